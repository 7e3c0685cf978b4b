package main_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestReadme runs the README's console examples in one shell and compares what
// they print. A fault in one is a fault of the README, or of the program.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is missing: %v", tool, err)
			}
			t.Skipf("the README's examples need %s", tool)
		}
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := console(string(text))
	if len(examples) < 10 {
		t.Fatalf("found only %d examples in README.md", len(examples))
	}
	port := freePort(t)
	got := runExamples(t, examples, port)
	for i, e := range examples {
		want := strings.ReplaceAll(e.want, "8080", port)
		if !pattern(want).MatchString(got[i]) {
			t.Errorf("$ %s\nprinted\n%s\nREADME.md says\n%s", e.command, got[i], want)
		}
	}
}

// named finds tests in a text: `server.TestScopes`.
var named = regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz)[A-Za-z]+)`")

// TestNamedTests: the tests that doc/security.md calls for witnesses exist.
func TestNamedTests(t *testing.T) {
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
			t.Errorf("doc/security.md names %s, which is not there", name[0])
		}
	}
	if len(packages) < 5 {
		t.Errorf("found names of %d packages", len(packages))
	}
}

// example is a command of the README and what it prints.
type example struct{ command, want string }

// console finds the examples: commands behind "$ ", going on behind "> ".
func console(text string) []example {
	var all []example
	inside := false
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case !inside:
		case strings.HasPrefix(line, "$ "):
			all = append(all, example{command: line[2:]})
		case strings.HasPrefix(line, "> "):
			all[len(all)-1].command += "\n" + line[2:]
		default:
			all[len(all)-1].want += line + "\n"
		}
	}
	return all
}

// pattern matches what an example prints: … stands for anything but, on a line
// of its own, for any lines.
func pattern(want string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(strings.TrimSuffix(want, "\n"))
	quoted = regexp.MustCompile(`(?m)^…$`).ReplaceAllString(quoted, `(?s:.*)`)
	return regexp.MustCompile(`^` + strings.ReplaceAll(quoted, "…", `.*`) + `\n?$`)
}

// runExamples runs them in one shell, in a folder of its own, with another
// port in place of 8080, and returns what each printed.
func runExamples(t *testing.T, examples []example, port string) []string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	const mark = "=====next====="
	var script strings.Builder
	script.WriteString("exec 2>&1\ntrap 'kill $(jobs -p) && wait' EXIT\n")
	for _, e := range examples {
		command := strings.ReplaceAll(e.command, "8080", port)
		command = strings.Replace(command, "go build -o govsvc .", `go build -C "`+here+`" -o "$PWD/govsvc" .`, 1)
		fmt.Fprintf(&script, "%s\necho %s\n", command, mark)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "tour.sh")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", file)
	shell.Dir = folder
	shell.Env = append(os.Environ(), "GOVSVC_ADDR=127.0.0.1:"+port, "GOFLAGS=-buildvcs=false")
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
