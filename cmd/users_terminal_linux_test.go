package cmd_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/term"

	"govsvc/cmd"
)

// newTerminal makes a terminal and the end at which the user types.
func newTerminal(t *testing.T) (terminal, hands *os.File) {
	t.Helper()
	hands, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	var number, unlock uint32
	control(t, hands, syscall.TIOCSPTLCK, &unlock)
	control(t, hands, syscall.TIOCGPTN, &number)
	terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _, _ = terminal.Close(), hands.Close() })
	return terminal, hands
}

func control(t *testing.T, file *os.File, request uintptr, value *uint32) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
		t.Fatal(errno)
	}
}

// stateOf returns the settings of a terminal.
func stateOf(t *testing.T, terminal *os.File) *term.State {
	t.Helper()
	state, err := term.GetState(int(terminal.Fd()))
	must(t, err)
	return state
}

// hides reports whether the terminal hides what is typed.
func hides(t *testing.T, terminal *os.File, before *term.State) bool {
	t.Helper()
	now, err := term.GetState(int(terminal.Fd()))
	if err != nil {
		t.Error(err)
	}
	return err == nil && *now != *before
}

// prompts counts the prompts.
type prompts struct {
	bytes.Buffer
	count atomic.Int32
}

func (p *prompts) Write(text []byte) (int, error) {
	if bytes.HasSuffix(text, []byte(": ")) {
		defer p.count.Add(1)
	}
	return p.Buffer.Write(text)
}

// answer types a line after each prompt, when the terminal hides it.
func (p *prompts) answer(ctx context.Context, t *testing.T, terminal, hands *os.File, before *term.State, lines []string) {
	t.Helper()
	for i, line := range lines {
		for ctx.Err() == nil && (int(p.count.Load()) <= i || !hides(t, terminal, before)) {
			runtime.Gosched()
		}
		fmt.Fprintln(hands, line)
	}
}

// TestPassword_IsHiddenAtTerminal checks that the command prompts for a password twice
// and does not show it.
func TestPassword_IsHiddenAtTerminal(t *testing.T) {
	t.Parallel()
	const asked = "Password for ada: \nThe same again: \n"
	for _, row := range []struct {
		lines  []string
		status int
		stderr string
	}{
		{[]string{password, password}, 0, asked},
		{[]string{password, "another"}, 1, asked + "govsvc: the two passwords differ; run the command again\n"},
		{[]string{"", ""}, 1, asked + "govsvc: a password is needed\n"},
	} {
		c := newCLI(t)
		terminal, hands := newTerminal(t)
		before := stateOf(t, terminal)
		ctx, cancel := context.WithCancel(t.Context())
		var typing sync.WaitGroup
		var stdout bytes.Buffer
		var stderr prompts
		typing.Go(func() { stderr.answer(ctx, t, terminal, hands, before, row.lines) })
		status := cmd.Run(t.Context(), []string{"users", "add", "ada", "--role", "admin"}, terminal, &stdout, &stderr, c.lookup)
		cancel()
		typing.Wait()
		if status != row.status || stderr.String() != row.stderr || strings.Contains(stdout.String(), password) {
			t.Errorf("%q: status %d, stderr %q, want %d, %q", row.lines, status, stderr.String(), row.status, row.stderr)
		}
		fmt.Fprintln(terminal, "end")
		echoed, err := bufio.NewReader(hands).ReadString('d')
		if err != nil || strings.Contains(echoed, "tulips") {
			t.Errorf("%q: the terminal echoed %q, %v", row.lines, echoed, err)
		}
	}
}

// TestPassword_ShowsInputAgainAfterInterrupt checks that the terminal shows typed text
// again after an interrupt.
func TestPassword_ShowsInputAgainAfterInterrupt(t *testing.T) {
	t.Parallel()
	c := newCLIWithoutFile(t)
	terminal, _ := newTerminal(t)
	before := stateOf(t, terminal)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var leaving sync.WaitGroup
	leaving.Go(func() {
		for !hides(t, terminal, before) && ctx.Err() == nil {
			runtime.Gosched()
		}
		cancel()
	})
	var stderr bytes.Buffer
	status := cmd.Run(ctx, []string{"users", "add", "ada", "--role", "admin"}, terminal, io.Discard, &stderr, c.lookup)
	if want := "Password for ada: \ngovsvc: interrupted; the command was not completed\n"; status != 1 || stderr.String() != want {
		t.Errorf("status %d, stderr %q, want 1, %q", status, stderr.String(), want)
	}
	leaving.Wait()
	if hides(t, terminal, before) {
		t.Error("the terminal goes on hiding what is typed")
	}
	if exists(c.env["GOVSVC_DB"]) {
		t.Error("it made a data file")
	}
}
