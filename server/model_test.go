package server_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/sandbox"
	"govsvc/server"
)

var modelSteps = flag.Int("model.steps", 2000, "how many steps TestModel_EqualsServer does, 2,000 on a file")

// perRun is the number of steps on one file.
const perRun = 2000

// TestModel_EqualsServer runs the same random steps on the service and on a model of the
// specification. Several keys call all operations, with good and bad inputs. In
// between, the operator imports data and changes plans, and time passes. Each answer
// must be the model's. If one is not, the test prints the shortest failing sequence
// that it finds, with its seed.
func TestModel_EqualsServer(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	statuses := map[int]int{}
	for n := 0; n*perRun < *modelSteps; n++ {
		m := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(n)))}
		var steps []step
		for range min(perRun, *modelSteps-n*perRun) - 1 {
			steps = append(steps, m.next())
		}
		steps = append(steps, step{Do: "check", N: 99})
		at, fault := replaySteps(t, steps, statuses)
		if fault != nil {
			printShortest(t, steps[:at+1], fault)
			return
		}
	}
	t.Logf("%d steps; %d replays; answers by status: %v", *modelSteps, statuses[replays], statuses)
}

// replaySteps runs the steps on a new service and a new model until they differ.
func replaySteps(t *testing.T, steps []step, answers map[int]int) (at int, fault error) {
	t.Helper()
	t.Run(fmt.Sprint("run-", runs.Add(1)), func(t *testing.T) { // no #, which ends a path in SQLite's URLs
		r := newRun(t)
		r.answers = answers
		for at = range steps {
			if fault = r.do(steps[at]); fault != nil {
				return
			}
		}
	})
	return at, fault
}

// attempts bounds the number of sequences that are tried to find a shorter one.
const attempts = 60

// printShortest removes steps while the sequence still fails, first many at a time,
// then fewer. It prints the remaining steps.
func printShortest(t *testing.T, steps []step, fault error) {
	t.Helper()
	tried := 0
	for size := len(steps) / 2; size > 0 && tried < attempts; size /= 2 {
		for from := 0; from+size < len(steps) && tried < attempts; tried++ { // the last step stays
			shorter := slices.Delete(slices.Clone(steps), from, from+size)
			if at, again := replaySteps(t, shorter, map[int]int{}); again != nil {
				steps, fault = shorter[:at+1], again
			} else {
				from += size
			}
		}
	}
	var b strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&b, "%d. %s\n", i+1, plainJSON(s))
	}
	t.Errorf("after %d steps (%d sequences tried): %v\n%s", len(steps), tried, fault, b.String())
}

// modelFile is the data file of every run, with two organisations. Its keys are in
// the order of their numbers.
var modelFile = testdb.NewTemplate(testdb.Options(""), prepareModel)

func prepareModel(ctx context.Context, store *db.DB) ([]modelKey, error) {
	if _, err := store.Orgs.Create(ctx, db.Actor{ID: "system"}, "acme", db.Enterprise); err != nil {
		return nil, err
	}
	all := slices.Concat(readScopes, otherScopes)
	keys := []modelKey{
		{org: db.DefaultOrganisation, scopes: all},
		{org: db.DefaultOrganisation, scopes: []string{"read:all", "manage:webhooks"}},
		{org: db.DefaultOrganisation, scopes: []string{"read:risks", "write:incidents", "read:audit"}},
		{org: "acme", scopes: all},
		{org: db.DefaultOrganisation, test: true, scopes: all},
		{org: "acme", test: true, scopes: []string{"read:all", "write:risks", "write:kpis"}},
		{org: db.DefaultOrganisation, scopes: all, perMinute: 6},
		{org: "acme", scopes: all, expires: start.Add(30 * time.Hour)},
	}
	for i := range keys {
		k := &keys[i]
		if k.perMinute == 0 {
			k.perMinute = 100_000
		}
		org, err := store.Orgs.ByName(ctx, k.org)
		if err != nil {
			return nil, err
		}
		draft := db.KeyDraft{Name: "model", Kind: db.LiveKey, Scopes: k.scopes, PerMinute: &k.perMinute, PerDay: new(1_000_000)}
		if k.test {
			draft.Kind = db.TestKey
		}
		if !k.expires.IsZero() {
			draft.ExpiresAt = &k.expires
		}
		made, plain, err := store.Keys.Mint(ctx, db.Actor{Org: org.Org, ID: "system"}, draft)
		if err != nil {
			return nil, err
		}
		k.id, k.plain, k.level, k.at = made.ID, plain, int64(k.perMinute)*int64(time.Minute), start
	}
	return keys, nil
}

// modelBox is the sandbox of all runs: nothing changes it.
var modelBox = sync.OnceValues(func() (*sandbox.Sandbox, error) {
	d, err := testkit.LoadDocument()
	if err != nil {
		return nil, err
	}
	return sandbox.Open(context.Background(), d)
})

// runs counts the runs, so that each has a unique name and unique Idempotency-Keys.
var runs atomic.Int64

func newRun(t *testing.T) *run {
	t.Helper()
	path, keys := modelFile.Copy(t)
	box, err := modelBox()
	if err != nil {
		t.Fatal(err)
	}
	quiet := func(c *server.Config) { c.Logger = slog.New(slog.DiscardHandler) }
	s := serveFile(t, path, testkit.NewClock(start), withHooks(t), quiet, withSandbox(func() (*db.DB, error) { return box.DB, nil }))
	r := &run{service: s, t: t, file: testkit.OpenSQL(t, path), keyPrefix: t.Name() + " ", records: map[string][]made{}}
	r.model = newModel(t, s, box.DB)
	for _, k := range keys {
		s.server.Verified(k.plain, k.id)
		r.model.keys = append(r.model.keys, &k)
	}
	for object := range visible {
		for _, known := range r.model.sets["sandbox"].records[object] {
			r.records[object] = append(r.records[object], made{known.text("id"), "sandbox"})
		}
	}
	return r
}

// newModel returns the model of a service that has just been started.
func newModel(t *testing.T, s *service, box *db.DB) *model {
	t.Helper()
	m := &model{now: start, sets: map[string]*dataset{}, terms: map[string]callerState{}, responses: map[string]storedResponse{}, seen: map[string]bool{}, tags: map[string]issuedTag{}}
	m.urls = map[string]string{testkit.NewReceiver(t, testkit.Status(200)).URL: "delivered", testkit.NewReceiver(t, testkit.Status(500)).URL: "rejected", closingReceiver(t): "unreachable"}
	for name, store := range map[string]*db.DB{db.DefaultOrganisation: s.store, "acme": s.store, "sandbox": box} {
		d := &dataset{name: name, records: map[string][]modelRecord{}}
		m.sets[name], m.terms[name] = d, callerState{plan: db.Enterprise, subscription: db.Active}
		if name == "sandbox" {
			for _, record := range fixtures(t) {
				d.put(record["object"].(string), plain[modelRecord](record), sandboxNow)
			}
			for _, text := range testkit.QuerySQL(t, box.File.Path(), "SELECT resource FROM webhook_subscriptions") {
				var r modelRecord
				if err := json.Unmarshal([]byte(text), &r); err != nil {
					t.Fatal(err)
				}
				d.records["webhook_subscription"] = append(d.records["webhook_subscription"], r)
			}
			name, d.frozen = db.DefaultOrganisation, true
		}
		page, err := store.Audit.Events(t.Context(), organisation(t, store, name), db.AuditQuery{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range page.Events {
			var event modelRecord
			if err := json.Unmarshal(line, &event); err != nil {
				t.Fatal(err)
			}
			d.log = append(d.log, event)
		}
	}
	return m
}
