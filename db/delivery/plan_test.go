package delivery

import (
	"path/filepath"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// TestLogPlans checks that SQLite finds a page of the log through an index in the
// order of the page.
func TestLogPlans(t *testing.T) {
	t.Parallel()
	store, err := db.Open(t.Context(), db.Options{Path: filepath.Join(t.TempDir(), "govsvc.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // the test only reads
	for _, row := range []struct {
		query Query
		want  string
	}{
		{Query{Subscription: "x", Limit: 10}, "deliveries_by_subscription (subscription_seq=? AND event_seq<?)"},
		{Query{Subscription: "x", State: Dead, Limit: 10}, "deliveries_dead (subscription_seq=? AND event_seq<?)"},
	} {
		query, args := row.query.statement(1, 2, 3)
		plan := testkit.ExplainSQL(t, store.File.Path(), query, args...)
		if !strings.Contains(plan, row.want) || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("the plan of %+v is\n%s", row.query, plan)
		}
	}
}
