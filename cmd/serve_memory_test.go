package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"govsvc/internal/testkit"
)

// TestServe_SetsMemoryLimit checks that the garbage collector's limit depends on
// the memory for cached responses, unless GOMEMLIMIT is set.
func TestServe_SetsMemoryLimit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		env  string
		want string // in the log
		not  string
	}{
		{"default", "", fmt.Sprintf("bytes=%d\n", (144+2*16)<<20), "nothing"},
		{"more memory for answers", "GOVSVC_ANSWER_MEMORY=100", fmt.Sprintf("bytes=%d\n", (144+2*100)<<20), "nothing"},
		{"a limit of the operator", "GOMEMLIMIT=1GiB", "msg=serving", "memory limit set"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			p := c.child("", func(command *exec.Cmd) {
				if command.Env = append(command.Env, "GOMEMLIMIT="); row.env != "" {
					command.Env = append(command.Env, row.env)
				}
			})
			testkit.Eventually(t, func() bool { return strings.Contains(p.stderr.String(), "msg=serving") }, "the log:\n%s", p.stderr)
			if log := p.stderr.String(); !strings.Contains(log, row.want) || strings.Contains(log, row.not) {
				t.Errorf("want %q and not %q in the log:\n%s", row.want, row.not, log)
			}
			_ = p.Process.Signal(os.Interrupt)
			_ = p.Wait()
		})
	}
}
