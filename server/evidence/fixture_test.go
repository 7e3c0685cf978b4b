package evidence_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/server/evidence"
)

// store is a data file with one organisation.
type store struct {
	t testing.TB
	*db.DB
	org db.Organisation
	by  db.Actor
}

// options make the content of a data file predictable: the clock always shows
// testkit.Start, and ids count up from a number.
func options(from int) db.Options {
	newID := func() string {
		from++
		return fmt.Sprintf("01990000-0000-7000-8000-%012d", from)
	}
	return db.Options{Now: testkit.NewClock(testkit.Start).Now, NewID: newID, Random: testkit.Zeros{}}
}

var emptyFile = testdb.NewTemplate(options(0), func(context.Context, *db.DB) (struct{}, error) { return struct{}{}, nil })

func newStore(t testing.TB) *store {
	t.Helper()
	options := options(1000)
	options.Path, _ = emptyFile.Copy(t)
	file := testdb.Open(t, options)
	return &store{t, file, testdb.DefaultOrg(t, file), testdb.Operator(t, file)}
}

// put imports records of the data format, with one on each line.
func (s *store) put(lines string) {
	s.t.Helper()
	s.write(func(tx *db.Tx) error {
		for line := range strings.Lines(strings.TrimSpace(lines)) {
			record := testkit.Object(s.t, line)
			object := record["object"].(string)
			delete(record, "object")
			if _, err := tx.Put(object, record); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
		}
		return tx.Audit(audit.Event{Action: "import.completed", Category: audit.DataChange, Severity: audit.SeverityWrite})
	})
}

func (s *store) write(run func(*db.Tx) error) {
	s.t.Helper()
	if err := s.Write(s.t.Context(), s.by, run); err != nil {
		s.t.Fatal(err)
	}
}

const (
	posture = `{"object":"compliance_posture","id":"0199aaaa-0000-7000-8000-000000000001","version_number":%d,"overall_posture":"COMPLIANT","primary_jurisdictions":["EU"],"regimes":[{"regime_id":"gdpr","regime_name":"GDPR","posture":"COMPLIANT"}],"executive_summary":"Version %[1]d.","generated_at":"2026-09-01T00:00:00Z"}
`
	records = `{"object":"obligation","obligation_key":"O-1","regime_id":"eu-ai-act","regime_name":"EU AI Act","jurisdiction":"EU","title":"Register the systems","priority_band":"HIGH","status":"in_progress"}
{"object":"obligation","obligation_key":"O-2","regime_id":"iso-42001","regime_name":"ISO 42001","jurisdiction":"EU","title":"Review the policy","priority_band":"LOW","status":"compliant"}
{"object":"risk","risk_id":"RISK-0001","title":"Bias","description":"A model disadvantages applicants","severity":"CRITICAL","likelihood":"LIKELY"}
{"object":"risk","risk_id":"RISK-0002","title":"Drift","description":"A model drifts without notice","severity":"LOW","likelihood":"RARE"}
{"object":"incident","incident_key":"INC-1","title":"Prompts with personal data","severity":"high","timeline":[{"at":"2026-09-01T08:00:00Z","status":"open","note":"Declared"},{"at":"2026-09-02T08:00:00Z","status":"resolved"}]}
{"object":"kpi","code":"KR-1","statement":"Review 90 % of models","metric_name":"reviewed","unit":"%","direction":"increase","target_value":90.5,"measurement_frequency":"monthly","status":"active"}
{"object":"kpi_checkin","key_result_code":"KR-1","period_start":"2026-08-01","value":60}
{"object":"kpi_checkin","key_result_code":"KR-1","period_start":"2026-07-01","value":55.25}
`
)

// filled returns a store with records of every type that a pack has.
func filled(t testing.TB) *store {
	t.Helper()
	s := newStore(t)
	s.put(strings.ReplaceAll(fmt.Sprintf(posture, 1), "000000000001", "000000000009") + fmt.Sprintf(posture, 2) + records)
	s.write(func(tx *db.Tx) error {
		var risk string
		err := s.Records(t.Context(), s.org.Org, "risk", func(record []byte) error {
			var r struct {
				ID  string `json:"id"`
				Ref string `json:"risk_id"`
			}
			err := json.Unmarshal(record, &r)
			if r.Ref == "RISK-0001" {
				risk = r.ID
			}
			return err
		})
		if err != nil {
			return err
		}
		_, err = tx.Update(resource.Risk, risk, db.Record{"severity": "MEDIUM", "severity_change_reason": "Retrained and tested on the July sample"})
		return err
	})
	return s
}

// attached returns an attachment.
func attached(name, text string) evidence.Attachment {
	return evidence.Attachment{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// file files a pack and returns it with its archive.
func (s *store) file(draft evidence.Draft) (db.EvidencePack, []byte) {
	s.t.Helper()
	draft.Title = cmp.Or(draft.Title, "Q3 audit")
	draft.Program = "v1.2.3"
	pack, err := evidence.File(s.t.Context(), s.DB, s.by, s.org, draft)
	if err != nil {
		s.t.Fatal(err)
	}
	var archive bytes.Buffer
	if _, err := s.Evidence.Export(s.t.Context(), s.by, pack.ID, &archive); err != nil {
		s.t.Fatal(err)
	}
	return pack, archive.Bytes()
}

// value returns the value that a query of the data file finds.
func (s *store) value(query string) string {
	s.t.Helper()
	return testkit.QuerySQL(s.t, s.File.Path(), query)[0]
}

func verify(ctx context.Context, archive []byte) (*evidence.Verified, error) {
	return evidence.Verify(ctx, bytes.NewReader(archive), int64(len(archive)))
}
