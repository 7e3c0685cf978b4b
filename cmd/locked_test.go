package cmd_test

import (
	"database/sql"
	"os/exec"
	"testing"
)

// TestLockedByAnotherProcess: while another process, here the test's, holds the
// file's lock for longer than a write waits, a write is a 503 that did nothing
// and reads go on; afterwards the same request goes through, once. (Within one
// process SQLite has locks of its own, which the tests of db and server meet.)
func TestLockedByAnotherProcess(t *testing.T) {
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
	p.want("locked, a read", deed{method: "GET", path: "/risks"}, 200)
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	p.want("released", newRisk("late"), 201)
	p.want("released, again", newRisk("late"), 201)
	p.whole()
	if n := len(p.strings(file, "SELECT id FROM risks")); n != 2 {
		t.Errorf("%d risks, want 2", n)
	}
	_ = p.Process.Kill()
	_ = p.Wait()
}
