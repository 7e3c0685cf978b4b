package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/sandbox"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/server/transfer"
)

// start is where the clocks of these tests stand first.
var start = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

var document = sync.OnceValues(openapi.Load)

// desk is a person at work on a file of their own.
type desk struct {
	*api.Caller
	ctx context.Context //nolint:containedctx // the test's
	now time.Time
}

func openDesk(t testing.TB) *desk {
	t.Helper()
	d := &desk{ctx: t.Context(), now: start}
	store, err := db.Open(t.Context(), db.Options{Path: filepath.Join(t.TempDir(), "govsvc.db"), Now: func() time.Time { return d.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	org, err := store.Orgs.ByName(t.Context(), db.DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	d.Caller = &api.Caller{
		Store: store, Organisation: org, Holder: org.Org, Entitlements: org.Plan.Entitlements(),
		ActorID: "ada", Dashboard: true, Document: doc, RequestID: "req_1",
	}
	return d
}

// openDemo is a desk with the demonstration organisation.
func openDemo(t testing.TB) *desk {
	t.Helper()
	d := openDesk(t)
	by := db.Actor{Org: d.Organisation.Org, ID: "system"}
	if _, err := transfer.Import(t.Context(), d.Store, d.Document, by, []transfer.Source{sandbox.Demo()}, transfer.Options{}); err != nil {
		t.Fatal(err)
	}
	return d
}

// onPlan makes the organisation's plan another one.
func (d *desk) onPlan(plan db.Plan) *desk {
	d.Organisation.Plan, d.Entitlements = plan, plan.Entitlements()
	return d
}

// object reads JSON as bodies are read.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var members map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&members); err != nil {
		t.Fatal(err)
	}
	return members
}

func number(text string) json.Number { return json.Number(text) }

func (d *desk) save(t testing.TB, object, id string, body map[string]any) string {
	t.Helper()
	id, err := api.Save(d.ctx, d.Caller, object, id, body)
	if err != nil {
		t.Fatalf("%s %v: %v", object, body, err)
	}
	return id
}

func (d *desk) read(t testing.TB, object, id string) api.Record {
	t.Helper()
	record, err := api.ReadRecord(d.ctx, d.Caller, object, id)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// trail is a line for each of the latest events of the audit log, newest first.
func (d *desk) trail(t testing.TB, n int) []string {
	t.Helper()
	page, err := d.Store.Audit.Search(d.ctx, d.Organisation, db.AuditSearch{Limit: n})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, text := range page.Events {
		var e struct {
			Actor, Action string
			ResourceType  string `json:"resource_type"`
			ResourceID    string `json:"resource_id"`
			Metadata      json.RawMessage
		}
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s", e.Actor, e.Action, e.ResourceType, e.ResourceID, e.Metadata))
	}
	return lines
}

// raised listens for the events that changes raise from now on.
func (d *desk) raised(t testing.TB) func() []string {
	t.Helper()
	err := d.Store.Write(d.ctx, db.Actor{Org: d.Organisation.Org, ID: "system"}, func(tx *db.Tx) error {
		_, _, err := tx.CreateSubscription(db.Record{"url": "https://example.com/hook"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	return func() []string {
		_, err := delivery.RunRound(d.ctx, d.Store, delivery.Round{Expand: true})
		if err != nil {
			t.Fatal(err)
		}
		claimed, err := delivery.SettleAndClaim(d.ctx, d.Store, nil, []delivery.Claim{{Subscription: 1, Limit: 1000}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, d := range claimed[seen:] {
			types = append(types, d.Message.Type)
		}
		seen = len(claimed)
		return types
	}
}

// refusal is what a person is told: code, field and message.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	e := api.Refusal(err)
	return fmt.Sprintf("%s %s: %s", e.Code, e.Param, e.Message)
}
