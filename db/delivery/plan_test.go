package delivery

import (
	"testing"

	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestLogPlans checks that SQLite finds a page of the log through an index in the
// order of the page.
func TestLogPlans(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	for _, row := range []struct {
		query Query
		back  bool
		want  string
	}{
		{Query{Subscription: "x", Limit: 10}, false, "deliveries_by_subscription (subscription_seq=? AND event_seq<?)"},
		{Query{Subscription: "x", Limit: 10}, true, "deliveries_by_subscription (subscription_seq=? AND event_seq>?)"},
		{Query{Subscription: "x", State: Dead, Limit: 10}, false, "deliveries_dead (subscription_seq=? AND event_seq<?)"},
	} {
		query, args := row.query.statement(1, place{2, 3}, row.back)
		testkit.CheckPlan(t, path, row.want, query, args...)
	}
}
