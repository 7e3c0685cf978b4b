package server_test

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/server/api"
	"govsvc/server/openapi"
)

// readTables are the tables that each cached read depends on, as SQLite reports them. A
// table with a star is read without regard to the organisation.
var readTables = map[string]string{
	"/scores":                 "assessments",
	"/scorecard":              "assessments",
	"/risks":                  "risks",
	"/signals":                "signals",
	"/roadmap":                "roadmaps",
	"/roadmap/milestones":     "milestones roadmaps",
	"/compliance":             "compliance_postures",
	"/compliance/obligations": "obligations",
	"/vendor":                 "vendor_portfolios",
	"/vendor/inventory":       "vendors",
	"/talent":                 "talent_readiness",
	"/talent/gaps":            "talent_gaps",
	"/incidents":              "incidents",
	"/kpis":                   "kpis",
	"/webhooks/subscriptions": "webhook_subscriptions",
}

// TestReadDependencies runs each read that is cached, with each of its parameters, and
// compares the tables that its response depends on.
func TestReadDependencies(t *testing.T) {
	t.Parallel()
	s := serveFixtures(t)
	functions, err := api.Bind(testkit.Document(t))
	if err != nil {
		t.Fatal(err)
	}
	org := organisation(t, s.store, db.DefaultOrganisation)
	for _, op := range testkit.Document(t).Operations {
		if op.Method != "GET" || op.Public || op.Feature == "audit" || functions[op.ID] == nil {
			continue
		}
		found := map[string]bool{}
		for _, query := range queriesOf(op) {
			values, err := op.Query(query)
			if err != nil {
				t.Fatalf("%s?%s: %v", op.Path, query.Encode(), err)
			}
			version, err := s.store.File.DataVersion()
			if err != nil {
				t.Fatal(err)
			}
			ctx, reads := s.store.File.Record(t.Context(), version)
			caller := &api.Caller{Store: s.store, Organisation: org, Holder: org.Org, Entitlements: org.Plan.Entitlements()}
			if _, err := functions[op.ID](ctx, caller, api.Input{Query: values}); err != nil {
				t.Fatalf("%s?%s: %v", op.Path, query.Encode(), err)
			}
			tables, all := reads.Tables()
			if all || len(tables) == 0 || !reads.Valid(version) {
				t.Errorf("%s?%s depends on all commits: %v, %v", op.Path, query.Encode(), all, tables)
			}
			for table, owner := range tables {
				if owner != org.Org {
					table += "*"
				}
				found[table] = true
			}
		}
		if got := strings.Join(slices.Sorted(maps.Keys(found)), " "); got != readTables[op.Path] {
			t.Errorf("%q: %q, not %q", op.Path, got, readTables[op.Path])
		}
	}
}

// TestReadDependencies_Writes writes a record of each resource. A list of another resource
// stays valid, and so do the lists of another organisation and the rows of keys.
func TestReadDependencies_Writes(t *testing.T) {
	t.Parallel()
	s := serveFixtures(t)
	functions, err := api.Bind(testkit.Document(t))
	if err != nil {
		t.Fatal(err)
	}
	organisation(t, s.store, "another")
	key, _ := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}})
	version := func() int64 {
		t.Helper()
		n, err := s.store.File.DataVersion()
		if n == 0 || err != nil {
			t.Fatal(n, err)
		}
		return n
	}
	// record reads all lists of both organisations and a key
	record := func() map[string]*db.Reads {
		recorded := map[string]*db.Reads{}
		for _, name := range []string{db.DefaultOrganisation, "another"} {
			org := organisation(t, s.store, name)
			for _, l := range lists {
				op := operationAt(t, l.path)
				values, err := op.Query(url.Values{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, reads := s.store.File.Record(t.Context(), version())
				if _, err := functions[op.ID](ctx, &api.Caller{Store: s.store, Organisation: org}, api.Input{Query: values}); err != nil {
					t.Fatal(err)
				}
				recorded[name+" "+l.path] = reads
			}
		}
		ctx, reads := s.store.File.Record(t.Context(), version())
		if _, err := s.store.Keys.ByID(ctx, key.ID); err != nil {
			t.Fatal(err)
		}
		recorded["key"] = reads
		return recorded
	}
	for _, written := range lists {
		recorded := record()
		load(t, s.store, db.DefaultOrganisation, []db.Record{sample(written.object, "D", 77, start)})
		now := version()
		for name, reads := range recorded {
			want := name != db.DefaultOrganisation+" "+written.path
			if got := reads.Valid(now); got != want {
				tables, all := reads.Tables()
				t.Errorf("after a %s, %q is valid: %v, want %v (%v, %v)", written.object, name, got, want, tables, all)
			}
		}
	}
	recorded := record()
	if _, err := s.store.Keys.Revoke(t.Context(), by(t, s.store, db.DefaultOrganisation), key.ID); err != nil {
		t.Fatal(err)
	}
	now := version()
	for name, reads := range recorded {
		if got, want := reads.Valid(now), name != "key"; got != want {
			t.Errorf("after the revocation, %q is valid: %v", name, got)
		}
	}
}

func operationAt(t testing.TB, path string) *openapi.Operation {
	t.Helper()
	for _, op := range testkit.Document(t).Operations {
		if op.Method == "GET" && op.Path == path {
			return op
		}
	}
	t.Fatal("no operation at ", path)
	return nil
}

// queriesOf are queries of an operation: none, and one with each parameter.
func queriesOf(op *openapi.Operation) []url.Values {
	queries := []url.Values{{}}
	for _, p := range op.Parameters {
		value := "x"
		switch {
		case p.Name == "cursor":
			continue // it continues the same statement
		case p.Name == "limit":
			value = "5"
		case p.Name == "updated_since":
			value = "2020-01-01T00:00:00Z"
		case len(p.Enum) > 0:
			value = p.Enum[0]
		}
		queries = append(queries, url.Values{p.Name: {value}})
	}
	return queries
}
