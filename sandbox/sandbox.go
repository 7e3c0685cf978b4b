// Package sandbox has the data sets of the program: the fixtures of the sandbox,
// which test keys read, and the demonstration organisation of `serve --demo`.
package sandbox

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/server/openapi"
	"govsvc/server/transfer"
)

//go:embed fixtures.ndjson
var fixtures []byte

//go:embed demo.ndjson
var demo []byte

// Demo returns the demonstration organisation in the data format.
func Demo() transfer.Source { return transfer.Bytes("demo.ndjson", demo) }

// Marker starts every human-readable value of the sandbox.
const Marker = "[SANDBOX] "

// now is the time in the sandbox. It is constant, so that responses never change.
var now = time.Date(2026, 9, 12, 12, 0, 0, 0, time.UTC)

// firstOwnID is the first id that the store uses. The fixtures have lower ones.
const firstOwnID = 900_000

// Sandbox is the open data set of test keys. Nothing written to it is stored.
type Sandbox struct {
	*db.DB
	folder *Folder
}

// Open loads the fixtures into a temporary file. Every sandbox, of every build,
// returns the same responses byte for byte.
func Open(ctx context.Context, document *openapi.Document) (*Sandbox, error) {
	folder, err := NewFolder()
	if err != nil {
		return nil, err
	}
	s := &Sandbox{folder: folder}
	var ids atomic.Int64
	ids.Store(firstOwnID)
	s.DB, err = db.Open(ctx, db.Options{
		Path:   filepath.Join(folder.Path, "sandbox.db"),
		Now:    func() time.Time { return now },
		NewID:  func() string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", ids.Add(1)) },
		Random: fixedReader{},
	})
	if err == nil {
		err = s.fill(ctx, document)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.File.Freeze()
	return s, nil
}

// Close removes the file.
func (s *Sandbox) Close() error {
	var err error
	if s.DB != nil {
		err = s.DB.Close()
	}
	return errors.Join(err, s.folder.Remove())
}

func (s *Sandbox) fill(ctx context.Context, document *openapi.Document) error {
	org, err := s.Orgs.ByName(ctx, db.DefaultOrganisation)
	if err != nil {
		return err
	}
	by := db.Actor{Org: org.Org, ID: "system"}
	if _, err := transfer.Import(ctx, s.DB, document, by, []transfer.Source{transfer.Bytes("fixtures.ndjson", fixtures)}, transfer.Options{OneEvent: true}); err != nil {
		return err
	}
	if err := s.Write(ctx, by, auditTrail); err != nil {
		return err
	}
	for i, record := range subscriptions() {
		by.API = i%2 == 0 // made through the API; the others in the dashboard
		if err := s.Write(ctx, by, func(tx *db.Tx) error {
			_, _, err := tx.CreateSubscription(record)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// subscriptions returns the subscriptions of the sandbox. Nothing is ever sent to
// them. All have the same signing secret; see fixedReader.
func subscriptions() []db.Record {
	return []db.Record{
		{
			"id": sandboxID(1601), "url": "https://siem.example.com/hooks/govsvc", "active": true,
			"description": Marker + "Everything, for the security team's collector.", "event_types": []any{},
			"created_at": "2026-02-03T09:15:00.000Z", "updated_at": "2026-02-03T09:15:00.000Z",
		},
		{
			"id": sandboxID(1602), "url": "https://chat.example.com/services/risk-committee", "active": true,
			"description": Marker + "Risks, for the committee's channel.", "event_types": []any{db.EventRiskCreated, db.EventRiskSeverityChanged},
			"created_at": "2026-03-11T14:40:00.000Z", "updated_at": "2026-05-20T08:05:00.000Z",
		},
		{
			"id": sandboxID(1603), "url": "https://bi.example.com/ingest/scores", "active": false,
			"description": nil, "event_types": []any{db.EventAssessmentCompleted, db.EventVerdictChanged},
			"created_at": "2026-04-28T07:00:00.000Z", "updated_at": "2026-08-01T16:30:00.000Z",
		},
		{
			"id": sandboxID(1604), "url": "https://grc.example.com/webhooks/evidence", "active": true,
			"description": Marker + "Plans, postures and evidence, for the compliance suite.",
			"event_types": []any{db.EventRoadmapUpdated, db.EventPostureChanged, db.EventEvidencePackFiled},
			"created_at":  "2026-06-17T11:20:00.000Z", "updated_at": "2026-06-17T11:20:00.000Z",
		},
	}
}

// auditTrail adds an event of each category to the log, as the live service
// writes them.
func auditTrail(tx *db.Tx) error {
	for _, e := range []audit.Event{
		{Action: "user.signed_in", Category: audit.Authentication, Severity: audit.SeverityRead, ResourceType: "user", ResourceID: sandboxID(1)},
		{Action: "user.sign_in_refused", Category: audit.Authentication, Severity: audit.SeverityRefused},
		{Action: "api.read.audit", Category: audit.DataAccess, Severity: audit.SeverityRead, Metadata: audit.Metadata{"events": 3, "format": "json"}},
		{
			Action: "risk.updated", Category: audit.DataChange, Severity: audit.SeverityWrite, ResourceType: "risk", ResourceID: sandboxID(201),
			Metadata: audit.Metadata{"changes": audit.Changes{"status": {From: "Open", To: "InProgress"}}},
		},
		{Action: "page.refused", Category: audit.Authorization, Severity: audit.SeverityRefused},
		{Action: "organisation.updated", Category: audit.Configuration, Severity: audit.SeveritySettings, ResourceType: "organisation"},
		{Action: "key.minted", Category: audit.KeyManagement, Severity: audit.SeverityKeys, ResourceType: "api_key", ResourceID: sandboxID(2)},
		{Action: "webhook_subscription.created", Category: audit.Webhook, Severity: audit.SeverityWrite, ResourceType: "webhook_subscription", ResourceID: sandboxID(1601)},
		{Action: "export.completed", Category: audit.Export, Severity: audit.SeverityRead},
		{Action: "file.restored", Category: audit.System, Severity: audit.SeverityRestore},
	} {
		if err := tx.Audit(e); err != nil {
			return err
		}
	}
	return nil
}

func sandboxID(n int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", n) }

// fixedReader replaces the random numbers of the sandbox. Its secrets are constant,
// so that cursors and signatures are the same everywhere.
type fixedReader struct{}

func (fixedReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "govsvc sandbox: nothing secret. "[i%32]
	}
	return len(p), nil
}
