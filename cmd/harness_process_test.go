package cmd_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/cmd"
	"govsvc/internal/testkit"
)

// output is the output of a running command.
type output struct {
	t              *testing.T
	stdout, stderr *testkit.LogBuffer
}

// line waits for a line of stdout with a prefix and returns the rest of the
// line.
func (s *output) line(prefix string) string {
	s.t.Helper()
	rest, ok := "", false
	testkit.Eventually(s.t, func() bool {
		for one := range strings.Lines(s.stdout.String()) {
			if text, whole := strings.CutSuffix(one, "\n"); whole && !ok {
				rest, ok = strings.CutPrefix(text, prefix)
			}
		}
		return ok
	}, "a line %q; stderr: %s", prefix, s.stderr)
	return rest
}

// has waits until stdout has a text a number of times.
func (s *output) has(text string, times int) {
	s.t.Helper()
	testkit.Eventually(s.t, func() bool { return strings.Count(s.stdout.String(), text) >= times }, "%q %d times on stdout; stderr: %s", text, times, s.stderr)
}

// background is a command that runs in this process until it is stopped.
type background struct {
	output
	stop  func() // does what a signal does
	ended chan int
}

// begin starts a command that runs until it is stopped.
func (c *cli) begin(args ...string) *background {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	s := &background{output{c.t, &testkit.LogBuffer{}, &testkit.LogBuffer{}}, stop, make(chan int, 1)}
	go func() { s.ended <- cmd.Run(ctx, args, nil, s.stdout, s.stderr, c.lookup) }()
	return s
}

// end stops the command and expects the exit status 0.
func (s *background) end() {
	s.t.Helper()
	s.stop()
	select {
	case status := <-s.ended:
		if status != 0 {
			s.t.Errorf("status %d, want 0: %s", status, s.stderr)
		}
	case <-time.After(30 * time.Second):
		s.t.Fatal("the command did not end")
	}
}

// server is a server under test, in this process.
type server struct {
	*background
	url string
}

// serve starts a server on a free port of loopback.
func (c *cli) serve(flags ...string) *server {
	c.t.Helper()
	s := c.begin(append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)...)
	return &server{s, s.line("listening on ")}
}

// process is a process of the program.
type process struct {
	output
	*exec.Cmd
}

// start starts the program; prepare may change how.
func (c *cli) start(prepare func(*exec.Cmd), args ...string) *process {
	c.t.Helper()
	path, err := program()
	must(c.t, err)
	p := &process{output{c.t, &testkit.LogBuffer{}, &testkit.LogBuffer{}}, exec.CommandContext(c.t.Context(), path, args...)}
	p.Stdout, p.Stderr = p.stdout, p.stderr
	p.Env = append(os.Environ(), "GOVSVC_DB="+c.env["GOVSVC_DB"])
	prepare(p.Cmd)
	must(c.t, p.Start())
	return p
}

// execute starts the program with a folder for temporary files.
func (c *cli) execute(tmp string, args ...string) *process {
	c.t.Helper()
	return c.start(func(p *exec.Cmd) { p.Env = append(p.Env, "TMPDIR="+tmp) }, args...)
}

// kill kills the process and waits until it is gone.
func (p *process) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// killAfter starts the program and kills it after a time. It reports whether the program
// ended before, with status 0.
func (c *cli) killAfter(delay time.Duration, args ...string) (ended bool) {
	c.t.Helper()
	p := c.execute(os.TempDir(), args...)
	time.Sleep(delay)
	_ = p.Process.Kill()
	return p.Wait() == nil
}

// end signals the process and expects the exit status 0.
func (p *process) end(signal os.Signal) {
	p.t.Helper()
	_ = p.Process.Signal(signal)
	if err := p.Wait(); err != nil {
		p.t.Errorf("%v: %v, want exit status 0: %s", signal, err, p.stderr)
	}
}

// deliverable starts a server that reaches a receiver on loopback.
func (c *cli) deliverable(ca string, flags ...string) *server {
	c.t.Helper()
	return c.serve(append(reaching(ca), flags...)...)
}

// listen starts a receiver. It returns its URL and the file of its authority.
func (c *cli) listen(flags ...string) (s *background, url, ca string) {
	c.t.Helper()
	s = c.begin(append([]string{"webhooks", "listen"}, flags...)...)
	return s, s.line("listening on "), s.line("trust ")
}

// reaching returns the flags that let serve and deliver reach a receiver on loopback.
func reaching(ca string) []string {
	return []string{"--webhook-allow", "127.0.0.0/8", "--webhook-ca", ca}
}

// child is a process of the program that serves the data file of a test.
type child struct {
	*cli
	*process
	api, key string
}

// child starts a server; prepare may change how.
func (c *cli) child(key string, prepare func(*exec.Cmd)) *child {
	c.t.Helper()
	p := c.start(prepare, "serve", "--addr", "127.0.0.1:0")
	return &child{c, p, p.line("listening on ") + "/api/v1", strings.TrimSpace(key)}
}

// builds is the folder of the program, for tests that need a process.
var builds string

// program builds the program once, when the first test needs it.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(builds, "govsvc")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", path, "govsvc") //nolint:noctx // outlives the test that asks first
	build.Stderr = os.Stderr
	return path, build.Run()
})

// testsPerCore is how many tests run at the same time on a core. Many of them wait for
// a time limit of the server, so the default, one, leaves the cores idle.
const testsPerCore = 4

func TestMain(m *testing.M) {
	var err error
	flag.Parse()
	if !isSet("test.parallel") {
		err = flag.Set("test.parallel", strconv.Itoa(testsPerCore*runtime.GOMAXPROCS(0)))
	}
	if err != nil {
		panic(err)
	}
	if builds, err = os.MkdirTemp("", "govsvc-test-"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(builds)
	os.Exit(status)
}

// isSet reports whether the command line sets a flag.
func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}
