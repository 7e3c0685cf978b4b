package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"govsvc/cmd"
	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// cli runs commands on a data file. It is the harness of most tests of this
// package.
type cli struct {
	t   *testing.T
	dir string
	env map[string]string
}

var emptyFile = testdb.NewTemplate(db.Options{}, func(context.Context, *db.DB) (struct{}, error) { return struct{}{}, nil })

// newCLI returns a harness with a data file without records, which is faster to copy
// than to make.
func newCLI(t *testing.T) *cli {
	t.Helper()
	path, _ := emptyFile.Copy(t)
	return &cli{t, filepath.Dir(path), map[string]string{"GOVSVC_DB": path}}
}

// newCLIWithoutFile returns a harness without a data file. The first command that
// needs one makes it.
func newCLIWithoutFile(t *testing.T) *cli {
	t.Helper()
	path := testkit.NewPath(t)
	return &cli{t, filepath.Dir(path), map[string]string{"GOVSVC_DB": path}}
}

// outcome is the result of one run.
type outcome struct {
	status         int
	stdout, stderr string
}

// run runs a command.
func (c *cli) run(args ...string) outcome { return c.runOn("", args...) }

// runOn runs a command with text on standard input.
func (c *cli) runOn(stdin string, args ...string) outcome {
	c.t.Helper()
	var stdout, stderr bytes.Buffer
	status := cmd.Run(c.t.Context(), args, strings.NewReader(stdin), &stdout, &stderr, c.lookup)
	return outcome{status, stdout.String(), stderr.String()}
}

// lookup returns the environment of commands.
func (c *cli) lookup(name string) (string, bool) {
	if name == "GOMEMLIMIT" { // a limit would apply to all tests of this process
		return "off", true
	}
	value, ok := c.env[name]
	return value, ok
}

// must runs a command that must succeed and returns its result.
func (c *cli) must(args ...string) string {
	c.t.Helper()
	o := c.run(args...)
	if o.status != 0 {
		c.t.Fatalf("%q: status %d: %s", args, o.status, o.stderr)
	}
	return o.stdout
}

// refused runs a command that must fail with a status and an error of one line,
// which it returns.
func (c *cli) refused(status int, args ...string) string {
	c.t.Helper()
	o := c.run(args...)
	if o.status != status {
		c.t.Errorf("%q: status %d, want %d", args, o.status, status)
	}
	if o.stdout != "" {
		c.t.Errorf("%q: stdout %q, want none", args, o.stdout)
	}
	line, isOne := strings.CutSuffix(o.stderr, "\n")
	if !isOne || strings.Contains(line, "\n") || !strings.HasPrefix(line, "govsvc: ") || strings.Contains(line, "Usage:") {
		c.t.Errorf("%q: stderr %q, want one line of error", args, o.stderr)
	}
	return line
}

// file writes a file into the folder and returns its path.
func (c *cli) file(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	testkit.WriteFile(c.t, path, text)
	return path
}

// read reads a file.
func (c *cli) read(path string) string {
	c.t.Helper()
	text, err := os.ReadFile(path)
	must(c.t, err)
	return string(text)
}

// files returns the names in the folder of the data file.
func (c *cli) files() string {
	c.t.Helper()
	return filesIn(c.t, c.dir)
}

// filesIn returns the names in a folder.
func filesIn(t *testing.T, folder string) string {
	t.Helper()
	return strings.Join(testkit.FileNames(t, folder), " ")
}

// newFolder makes an empty folder, for TMPDIR.
func newFolder(c *cli, name string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	must(c.t, os.Mkdir(path, 0o700))
	return path
}

// wantEmpty checks that a folder has no files.
func wantEmpty(t *testing.T, folder string) {
	t.Helper()
	if left := filesIn(t, folder); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// decode parses JSON.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// runJSON runs a command with --json and parses its result.
func runJSON[T any](c *cli, args ...string) T {
	c.t.Helper()
	return decode[T](c.t, c.must(append(args, "--json")...))
}

// changing are the parts of results that differ in each run.
var changing = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "<time>"},
	{regexp.MustCompile(`gds_(live|test)_[0-9A-Za-z]{52}`), "<$1 key>"},
	{regexp.MustCompile(`gds_(live|test)_[0-9A-Za-z]{12}\b`), "<$1 prefix>"},
}

// settled replaces the parts of a result that differ in each run.
func settled(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.name)
	}
	return text
}

// squeezed returns a table with single spaces between its columns.
func squeezed(text string) string { return regexp.MustCompile(` +`).ReplaceAllString(text, " ") }

// golden compares a result with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	testkit.Golden(t, name, settled(got))
}
