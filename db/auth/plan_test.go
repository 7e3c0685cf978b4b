package auth

import (
	"strings"
	"testing"

	"govsvc/db"
)

// TestSessionPlan checks that SQLite finds a session by its token through indexes
// alone: every request of the dashboard makes this read.
func TestSessionPlan(t *testing.T) {
	t.Parallel()
	s := openService(t)
	var plan []string
	err := s.Sessions.store.Each(t.Context(), func(row db.Scanner) error {
		var id, parent, unused int
		var detail string
		err := row.Scan(&id, &parent, &unused, &detail)
		plan = append(plan, detail)
		return err
	}, "EXPLAIN QUERY PLAN "+sessionQuery, []byte("x"), "", "")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(plan, "\n")
	if strings.Contains(text, "SCAN ") || strings.Contains(text, "TEMP B-TREE") || !strings.Contains(text, "SEARCH") {
		t.Errorf("the plan of a session by its token is\n%s", text)
	}
}
