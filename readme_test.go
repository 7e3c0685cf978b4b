package main_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// notRun lists the blocks of the documentation that have commands but can't run
// in a test. The key is the file and the block's first line, the value the reason.
var notRun = map[string]string{
	"README.md: go run . serve       # start the service at http://127.0.0.1:8080; the data is in ./govsvc.db":                       "a server and all tests; .ci/run runs the tests",
	"doc/litestream.md: litestream replicate -config /etc/litestream.yml":                                                            "Litestream; .ci/litestream runs it",
	"doc/litestream.md: systemctl stop govsvc litestream":                                                                            "systemd and Litestream; .ci/litestream runs the restore",
	"doc/operations.md: cd /var/lib/govsvc":                                                                                          "an older program",
	"doc/operations.md: sha256sum --check --ignore-missing SHA256SUMS":                                                               "the archive of a release",
	"doc/operations.md: ssh-keygen -Y verify -f allowed_signers -I releases@govsvc -n govsvc-release -s SHA256SUMS.sig < SHA256SUMS": "a signed release; .ci/release/check runs it",
	"doc/operations.md: dpkg -i govsvc_1.2.3_amd64.deb      # Debian, Ubuntu":                                                        "root and systemd; .ci/release/check runs it",
	"doc/operations.md: install -m 0755 govsvc /usr/local/bin/":                                                                      "root and systemd",
	"doc/operations.md: runuser -u govsvc -- govsvc --db /var/lib/govsvc/govsvc.db keys list":                                        "root and systemd",
	"doc/operations.md: install -D -m 0644 doc/deploy/tls.conf /etc/systemd/system/govsvc.service.d/tls.conf":                        "root and systemd; .ci/release/check runs it",
	"doc/operations.md: docker build -f doc/deploy/Dockerfile -t govsvc .":                                                           "docker",
}

// notCommands are the languages of blocks without commands.
var notCommands = []string{"yaml", "json", "mermaid"}

// leastExamples is the number of commands that a test must find in a file. It
// fails if a change of the Markdown hides the examples from the test.
var leastExamples = map[string]int{
	"README.md": 10, "doc/api.md": 15, "doc/audit.md": 10, "doc/backup.md": 10, "doc/evidence.md": 5,
	"doc/import.md": 8, "doc/mcp.md": 4, "doc/operations.md": 4, "doc/webhooks.md": 14,
}

// TestDocs_RunExamples runs the console examples of the README and of the files in doc, and
// compares their output. Each file has a separate shell. A block in another
// language needs a line in notRun, unless the language has no commands.
func TestDocs_RunExamples(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is missing: %v", tool, err)
			}
			t.Skipf("the examples need %s", tool)
		}
	}
	files, err := filepath.Glob("doc/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("doc/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	skipped := map[string]string{}
	for _, file := range append(append(files, more...), "README.md") {
		file = filepath.ToSlash(file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks := blocksOf(string(text))
		noteSkipped(file, blocks, skipped)
		examples := console(blocks)
		if len(examples) < leastExamples[file] {
			t.Errorf("%s has %d examples, want at least %d", file, len(examples), leastExamples[file])
		}
		if len(examples) == 0 {
			continue
		}
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			checkExamples(t, file, examples)
		})
	}
	if diff := cmp.Diff(slices.Sorted(keysOf(notRun)), slices.Sorted(keysOf(skipped))); diff != "" {
		t.Errorf("blocks that no test runs (-in notRun +in the files); put commands that can run into a block of the language console:\n%s", diff)
	}
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// noteSkipped adds the blocks that are not run to skipped.
func noteSkipped(file string, blocks []block, skipped map[string]string) {
	for _, b := range blocks {
		if b.language == "console" || slices.Contains(notCommands, b.language) {
			continue
		}
		first := ""
		if len(b.lines) > 0 {
			first, _, _ = strings.Cut(b.lines[0], "=govsvc ")
		}
		skipped[file+": "+first] = b.language
	}
}

// builtProgram builds the program once for all examples and returns its folder.
var builtProgram = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "govsvc-docs-")
	if err != nil {
		return "", err
	}
	command := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-w", "-o", filepath.Join(folder, "govsvc"), ".") //nolint:noctx // bounded by the test's own limit
	if text, err := command.CombinedOutput(); err != nil {
		return folder, fmt.Errorf("go build: %w\n%s", err, text)
	}
	return folder, nil
})

// built is true after the first call of builtProgram.
var built atomic.Bool

// TestMain removes the program that was built for the examples.
func TestMain(m *testing.M) {
	status := m.Run()
	if built.Load() {
		if folder, _ := builtProgram(); folder != "" {
			_ = os.RemoveAll(folder)
		}
	}
	os.Exit(status)
}

func checkExamples(t *testing.T, file string, examples []example) {
	t.Helper()
	port := freePort(t)
	folder := t.TempDir()
	here := strings.NewReplacer("8080", port, "/var/", folder+"/var/", "/mnt/", folder+"/mnt/")
	got := runExamples(t, examples, folder, port, here)
	for i, e := range examples {
		want := here.Replace(e.want)
		if !pattern(want).MatchString(got[i]) {
			t.Errorf("$ %s\ngot\n%s\nwant, from %s\n%s", e.command, got[i], file, want)
		}
	}
}

// block is a fenced block of a Markdown file.
type block struct {
	language string
	lines    []string
}

// blocksOf returns the blocks of a file. A block inside a list loses the list's
// indentation.
func blocksOf(text string) []block {
	var all []block
	indent, inside := "", false
	for line := range strings.SplitSeq(text, "\n") {
		bare := strings.TrimLeft(line, " ")
		switch language, fence := strings.CutPrefix(bare, "```"); {
		case fence && inside:
			inside = false
		case fence:
			all = append(all, block{language: language})
			indent, inside = line[:len(line)-len(bare)], true
		case inside:
			last := &all[len(all)-1]
			last.lines = append(last.lines, strings.TrimPrefix(line, indent))
		}
	}
	return all
}

// example is a command of the documentation and its expected output.
type example struct{ command, want string }

// console returns the examples of the console blocks. A command follows "$ ", and
// its further lines follow "> ".
func console(blocks []block) []example {
	var all []example
	for _, b := range blocks {
		if b.language != "console" {
			continue
		}
		for _, line := range b.lines {
			switch {
			case strings.HasPrefix(line, "$ "):
				all = append(all, example{command: line[2:]})
			case strings.HasPrefix(line, "> "):
				all[len(all)-1].command += "\n" + line[2:]
			default:
				all[len(all)-1].want += line + "\n"
			}
		}
	}
	return all
}

// pattern matches the output of an example. An … matches any text within a line;
// alone on a line, it matches any number of lines.
func pattern(want string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(strings.TrimSuffix(want, "\n"))
	quoted = regexp.MustCompile(`(?m)^…$`).ReplaceAllString(quoted, `(?s:.*)`)
	return regexp.MustCompile(`^` + strings.ReplaceAll(quoted, "…", `.*`) + `\n?$`)
}

// runExamples runs the examples in one shell and returns the output of each. The
// shell's working directory is folder, which also replaces the root of the file
// system in the commands.
func runExamples(t *testing.T, examples []example, folder, port string, here *strings.Replacer) []string {
	t.Helper()
	program, err := builtProgram()
	built.Store(true)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"var/lib/govsvc", "var/backups", "mnt/usb"} {
		if err := os.MkdirAll(filepath.Join(folder, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const mark = "=====next====="
	var script strings.Builder
	script.WriteString("exec 2>&1\ntrap 'kill $(jobs -p) && wait' EXIT\n")
	for _, e := range examples {
		command := here.Replace(e.command)
		command = strings.Replace(command, "go build -o govsvc .", `cp "`+program+`/govsvc" govsvc`, 1)
		fmt.Fprintf(&script, "%s\necho %s\n", command, mark)
	}
	file := filepath.Join(folder, "tour.sh")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", file)
	shell.Dir = folder
	shell.Env = append(os.Environ(), "GOVSVC_ADDR=127.0.0.1:"+port, "PATH="+program+string(os.PathListSeparator)+os.Getenv("PATH"))
	printed, err := shell.CombinedOutput()
	parts := strings.Split(strings.ReplaceAll(string(printed), "\r", ""), mark+"\n")
	if len(parts) != len(examples)+1 {
		t.Fatalf("the examples ended early (%v) after:\n%s", err, printed)
	}
	return parts[:len(examples)]
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// named matches the name of a test in a text, such as `server.TestScopes`.
var named = regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// TestNamedTests_Exist checks that the tests which doc/security.md names exist.
func TestNamedTests_Exist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("doc", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]string{}
	for _, name := range named.FindAllStringSubmatch(string(text), -1) {
		if packages[name[1]] == "" {
			files, err := filepath.Glob(filepath.Join(name[1], "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				code, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				packages[name[1]] += string(code)
			}
		}
		if !strings.Contains(packages[name[1]], "\nfunc "+name[2]+"(") {
			t.Errorf("doc/security.md names %s, which does not exist", name[0])
		}
	}
	if len(packages) < 5 {
		t.Errorf("got tests of %d packages, want at least 5", len(packages))
	}
}

var (
	// link matches the target of a Markdown link or image.
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// heading matches a Markdown heading.
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	// notInAnchor matches the characters that GitHub removes from a heading when
	// it makes the anchor.
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the anchors of a Markdown file's headings.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		name := notInAnchor.ReplaceAllString(strings.ToLower(found[1]), "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}

// TestLinks_LeadToFiles checks that each link between the files of the repository leads
// to a file that exists and, if it has an anchor, to a heading.
func TestLinks_LeadToFiles(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"*.md", "doc/*.md", "doc/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	checked := 0
	for _, file := range files {
		for _, found := range link.FindAllStringSubmatch(read(file), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := file
			if target != "" {
				path = filepath.Join(filepath.Dir(file), filepath.FromSlash(target))
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, found[1])
			} else if anchor != "" && !anchors(read(path))[anchor] {
				t.Errorf("%s links to %s, which has no such heading", file, found[1])
			}
			checked++
		}
	}
	if checked < 100 {
		t.Errorf("checked %d links, want at least 100", checked)
	}
}
