package cmd_test

import (
	"os"
	"syscall"
	"testing"
)

// TestSandbox_RemovesLeftovers kills a sandbox and a server with the data set
// of test keys. The next start of either removes their files, but no files of a
// running process.
func TestSandbox_RemovesLeftovers(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	tmp := newFolder(c, "tmp")
	count := func() int {
		t.Helper()
		entries, err := os.ReadDir(tmp)
		must(t, err)
		return len(entries)
	}
	testKey := c.testKey("read:all")
	serve := func() (*process, string) {
		p := c.execute(tmp, "serve", "--addr", "127.0.0.1:0")
		return p, p.line("listening on ")
	}
	live := c.execute(tmp, "sandbox")
	base, key := live.line("base URL "), live.line("test key ")
	each := count() // folders of one sandbox
	killed := c.execute(tmp, "sandbox")
	killed.line("try ")
	killed.kill()
	if n := count(); n != 2*each {
		t.Fatalf("%d folders, want %d of the killed sandbox and as many of the other", n, each)
	}

	server, url := serve()
	if n := count(); n != each {
		t.Errorf("%d folders after serve has started, want the %d of the sandbox that lives", n, each)
	}
	if status, body := c.get(base+"/risks", key); status != 200 {
		t.Errorf("the sandbox that lives answers %d %s", status, body)
	}
	if status, body := c.get(url+"/api/v1/risks", testKey); status != 200 {
		t.Errorf("a test key: %d %s", status, body)
	}
	if n := count(); n != each+1 {
		t.Errorf("%d folders with the sandbox of the server's test keys, want %d", n, each+1)
	}
	server.kill()
	live.end(syscall.SIGTERM)
	if n := count(); n != 1 {
		t.Errorf("%d folders, want the one that the killed server left", n)
	}
	last := c.execute(tmp, "sandbox")
	last.line("try ")
	last.end(syscall.SIGTERM)
	wantEmpty(t, tmp)
}
