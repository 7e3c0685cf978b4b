package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
	"testing"
)

// TestServe_SurvivesHangup checks that a command under nohup survives its terminal and
// ends with status 0 on a signal. Without nohup it ends with its terminal.
func TestServe_SurvivesHangup(t *testing.T) {
	t.Parallel()
	// If the tests run under nohup, the child would inherit that the signal is
	// ignored.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for _, ignored := range []bool{true, false} {
		c := newCLI(t)
		p := c.child("", func(run *exec.Cmd) {
			if ignored {
				run.Path, run.Args = "/bin/sh", append([]string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`, run.Path}, run.Args[1:]...)
			}
		})
		status := c.read(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
		mask, err := strconv.ParseUint(regexp.MustCompile(`SigIgn:\s*([0-9a-f]+)`).FindStringSubmatch(status)[1], 16, 64)
		if hangup := mask>>(syscall.SIGHUP-1)&1 == 1; err != nil || hangup != ignored {
			t.Errorf("ignored %v: the process ignores the signals %b, %v", ignored, mask, err)
		}
		must(t, p.Process.Signal(syscall.SIGHUP))
		if ignored {
			p.want("without a terminal", crashWrite{method: "GET", path: "/"}, 200)
			must(t, p.Process.Signal(syscall.SIGTERM))
		}
		if err := p.Wait(); err != nil {
			t.Errorf("ignored %v: %v, want exit status 0; log:\n%s", ignored, err, p.stderr)
		}
	}
}
