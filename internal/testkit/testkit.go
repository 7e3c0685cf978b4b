// Package testkit has what the tests of several packages share: data files, a clock
// that only a test moves, a buffer for logs, golden files and waiting. Only tests
// import it.
package testkit

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Update reports whether the tests are to write their golden files.
func Update() bool { return *update }

// Start is when the clocks of tests start: later than the dates of all fixtures.
var Start = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// Clock is a clock that only a test moves.
type Clock struct {
	mutex sync.Mutex
	now   time.Time
}

// NewClock returns a clock that shows now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

// Advance moves the clock, backward if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(d)
}

// Set makes the clock show now.
func (c *Clock) Set(now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = now
}

// LogBuffer collects a log that a test reads while it is written.
type LogBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

// Write appends to the log.
func (b *LogBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(p)
}

// String returns the log so far.
func (b *LogBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

// Reset empties the log.
func (b *LogBuffer) Reset() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.text.Reset()
}

// CloseAfter calls a function that closes something when the test ends, and reports its
// error.
func CloseAfter(t testing.TB, shut func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := shut(); err != nil {
			t.Error(err)
		}
	})
}

// Zeros is a reader of endless zero bytes, in place of random ones.
type Zeros struct{}

// Read fills p with zeros.
func (Zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// patience is how long Eventually waits.
const patience = time.Minute

// Eventually waits until a condition holds that something else brings about. After
// a minute it fails the test with the description, which fmt.Sprintf formats.
func Eventually(t testing.TB, condition func() bool, description string, args ...any) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for "+description, args...)
		}
	}
}

// Golden compares a result with a file in the folder testdata of the package. The
// flag -update writes the file instead.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) //nolint:gosec // the test names the file
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; run the test with -update if this is meant):\n%s", path, diff)
	}
}

// CompareCalls calls fn with each key of want and compares the result with its value.
func CompareCalls[In comparable, Out comparable](t *testing.T, fn func(In) Out, want map[In]Out) {
	t.Helper()
	for in, out := range want {
		if got := fn(in); got != out {
			t.Errorf("%.100q: got %.200q, want %.200q", fmt.Sprint(in), fmt.Sprint(got), fmt.Sprint(out))
		}
	}
}

// StartTest runs a test of this package in another process, with one more variable in its
// environment, and returns the process with its standard input and output.
func StartTest(t testing.TB, test, variable string) (child *exec.Cmd, in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	child = exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "-test.run=^"+test+"$") //nolint:gosec // this program
	child.Env = append(os.Environ(), variable)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = child.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	return child, in, out
}
