package cmd_test

import (
	"testing"

	"govsvc/internal/testkit"
)

// TestServe_SweepsSessions checks that the server removes a session that has ended.
func TestServe_SweepsSessions(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.addUser("ada", "admin")
	path := c.env["GOVSVC_DB"]
	testkit.ExecSQL(t, path, `INSERT INTO sessions (token_hash, user_seq, org_id, created_at, seen_at, expires_at)
		SELECT randomblob(32), u.seq, o.seq, '2020-01-01T00:00:00.000Z', '2020-01-01T00:00:00.000Z', '2020-01-01T12:00:00.000Z'
		FROM users u, organisations o`)
	const sessions = "SELECT hex(token_hash) FROM sessions"
	if n := len(testkit.CountSQL(t, path, sessions)); n != 1 {
		t.Fatalf("got %d sessions, want 1", n)
	}
	s := c.serve()
	testkit.Eventually(t, func() bool { return len(testkit.CountSQL(t, path, sessions)) == 0 }, "the ended session is removed")
	s.end()
}
