package cmd_test

import (
	"database/sql"
	"os/exec"
	"testing"
)

// TestServe_FileLockedByAnotherProcess holds the file's lock for longer than a
// write waits. The write gets 503 and changes nothing, and reads continue.
// Afterwards the same request succeeds once. The tests of db and server cover
// locks within one process.
func TestServe_FileLockedByAnotherProcess(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	p := c.child(c.must("keys", "mint", "--name", "n", "--scope", "write:risks,read:risks"), func(*exec.Cmd) {})
	p.want("before", newRisk("before"), 201)
	file, err := sql.Open("sqlite", "file:"+c.env["GOVSVC_DB"]+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	held, err := file.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p.want("locked", newRisk("late"), 503)
	p.want("locked, a read", crashWrite{method: "GET", path: "/risks"}, 200)
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	p.want("released", newRisk("late"), 201)
	p.want("released, again", newRisk("late"), 201)
	p.checkTables()
	if n := len(p.strings(file, "SELECT id FROM risks")); n != 2 {
		t.Errorf("%d risks, want 2", n)
	}
	_ = p.Process.Kill()
	_ = p.Wait()
}
