package auth

import (
	"testing"

	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestSessionPlan checks that SQLite finds a session by its token through indexes
// alone: every request of the dashboard makes this read.
func TestSessionPlan(t *testing.T) {
	t.Parallel()
	testkit.CheckPlan(t, testdb.EmptyFile(t), "SEARCH", sessionQuery, []byte("x"), "", "")
}
