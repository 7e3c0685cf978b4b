package cmd_test

import (
	"os/exec"
	"testing"

	"govsvc/internal/testkit"
)

// TestServe_WaitsForLockOfAnotherProcess holds the file's lock for longer than a
// write waits. The write gets 503 and changes nothing, and reads continue.
// Afterwards the same request succeeds once. The tests of db and server cover
// locks within one process.
func TestServe_WaitsForLockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	p := c.child(c.key("write:risks,read:risks"), func(*exec.Cmd) {})
	p.want("before", newRisk("before"), 201)
	held, err := testkit.OpenSQL(t, c.env["GOVSVC_DB"]).BeginTx(t.Context(), nil)
	must(t, err)
	p.want("locked", newRisk("late"), 503)
	p.want("locked, a read", crashWrite{method: "GET", path: "/risks"}, 200)
	must(t, held.Rollback())
	p.want("released", newRisk("late"), 201)
	p.want("released, again", newRisk("late"), 201)
	p.checkTables()
	if n := len(testkit.QuerySQL(t, c.env["GOVSVC_DB"], "SELECT id FROM risks")); n != 2 {
		t.Errorf("%d risks, want 2", n)
	}
	p.kill()
}
