package cmd_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestErrors_NameTheFile checks that an error about a file names the file but
// not the system call, and says what to do if no flag is named.
func TestErrors_NameTheFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("orgs", "create", "acme")
	foreign := c.file("foreign.txt", strings.Repeat("x", 100))
	none := filepath.Join(c.dir, "none")
	for _, row := range []struct {
		status int
		args   []string
		want   string
	}{
		{1, []string{"evidence", "verify", none}, "govsvc: " + none + ": no such file or directory; name the zip file of a pack"},
		{1, []string{"audit", "verify", "--print-head", "--file", none}, "govsvc: --file: " + none + ": no such file or directory"},
		{1, []string{"serve", "--webhook-ca", none}, "govsvc: --webhook-ca: " + none + ": no such file or directory"},
		{2, []string{"version", "--config", none}, "govsvc: --config: " + none + ": no such file or directory"},
		{1, []string{"check", "--db", foreign}, "govsvc: " + foreign + ": is not a govsvc data file; give another path with --db"},
	} {
		if got := c.refused(row.status, row.args...); got != row.want {
			t.Errorf("got %s, want %s", got, row.want)
		}
	}
}
