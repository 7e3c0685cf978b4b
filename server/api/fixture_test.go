package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/server/api"
)

// fixture is a person who works on a data file. Its clock starts at testkit.Start.
type fixture struct {
	*api.Caller
	ctx   context.Context //nolint:containedctx // that of the test
	clock *testkit.Clock
}

// newFixture returns a fixture with an empty data file.
func newFixture(t testing.TB) *fixture {
	t.Helper()
	return openFixture(t, testdb.EmptyFile(t))
}

// newDemoFixture returns a fixture with the demonstration organisation.
func newDemoFixture(t testing.TB) *fixture {
	t.Helper()
	return openFixture(t, testdb.DemoFile(t))
}

func openFixture(t testing.TB, path string) *fixture {
	t.Helper()
	f := &fixture{ctx: t.Context(), clock: testkit.NewClock(testkit.Start)}
	store := testdb.Open(t, db.Options{Path: path, Now: f.clock.Now})
	org := testdb.DefaultOrg(t, store)
	f.Caller = &api.Caller{
		Store: store, Organisation: org, Holder: org.Org, Entitlements: org.Plan.Entitlements(),
		ActorID: "ada", Dashboard: true, Document: testkit.Document(t), RequestID: "req_1",
	}
	return f
}

// onPlan changes the plan of the organisation.
func (f *fixture) onPlan(plan db.Plan) *fixture {
	f.Organisation.Plan, f.Entitlements = plan, plan.Entitlements()
	return f
}

// operator returns the actor of the command line.
func (f *fixture) operator() db.Actor { return db.Actor{Org: f.Organisation.Org, ID: "system"} }

func (f *fixture) save(t testing.TB, object, id string, body map[string]any) string {
	t.Helper()
	id, err := api.Save(f.ctx, f.Caller, object, id, body)
	if err != nil {
		t.Fatalf("%s %v: %v", object, body, err)
	}
	return id
}

func (f *fixture) read(t testing.TB, object, id string) api.Record {
	t.Helper()
	record, err := api.ReadRecord(f.ctx, f.Caller, object, id)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// auditLog returns the latest n audit events, newest first, with one on each line.
func (f *fixture) auditLog(t testing.TB, n int) []string {
	t.Helper()
	page, err := f.Store.Audit.Search(f.ctx, f.Organisation, db.AuditSearch{Limit: n})
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

// webhookEvents adds a subscription. It returns a function that returns the types of the
// events since its last call.
func (f *fixture) webhookEvents(t testing.TB) func() []string {
	t.Helper()
	err := f.Store.Write(f.ctx, f.operator(), func(tx *db.Tx) error {
		_, _, err := tx.CreateSubscription(db.Record{"url": "https://example.com/hook"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	return func() []string {
		_, err := delivery.RunRound(f.ctx, f.Store, delivery.Round{Expand: true})
		if err != nil {
			t.Fatal(err)
		}
		claimed, err := delivery.SettleAndClaim(f.ctx, f.Store, nil, []delivery.Claim{{Subscription: 1, Limit: 1000}}, 0)
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

// refusal returns the code, the member and the message of an error, or "" for nil.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	e := api.Refusal(err)
	return fmt.Sprintf("%s %s: %s", e.Code, e.Param, e.Message)
}
