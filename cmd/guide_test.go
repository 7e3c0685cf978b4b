package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// manPages writes the manual pages and returns their paths.
func manPages(c *cli) []string {
	c.t.Helper()
	folder := filepath.Join(c.dir, "man")
	c.must("man", folder)
	pages, err := filepath.Glob(filepath.Join(folder, "*.1"))
	must(c.t, err)
	return pages
}

// TestGuides_NameExistingFlags checks that the program has the flags and variables that the
// documentation and the deployment files name.
func TestGuides_NameExistingFlags(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	pages := manPages(c)
	known := map[string]bool{}
	option := regexp.MustCompile(`\\fB\\-\\-((?:[a-z0-9]|\\-)+)`)
	variable := regexp.MustCompile(`GOVSVC_[A-Z_]*[A-Z]`)
	for _, page := range pages {
		for _, name := range variable.FindAllString(c.read(page), -1) {
			known[name] = true
		}
		for _, found := range option.FindAllStringSubmatch(c.read(page), -1) {
			known["GOVSVC_"+strings.ToUpper(strings.ReplaceAll(found[1], `\-`, "_"))] = true
		}
	}
	flag := regexp.MustCompile("(?:`|govsvc[^`\n]*? )--([a-z-]+)")
	named := 0
	guides, err := filepath.Glob("../doc/*.md")
	must(t, err)
	for _, path := range append(guides, "../README.md", "../doc/deploy/Dockerfile", "../doc/deploy/govsvc.service") {
		text, err := os.ReadFile(path)
		must(t, err)
		names := variable.FindAllString(string(text), -1)
		for _, found := range flag.FindAllStringSubmatch(string(text), -1) {
			names = append(names, "GOVSVC_"+strings.ToUpper(strings.ReplaceAll(found[1], "-", "_")))
		}
		for _, name := range names {
			if named++; !known[name] && name != "GOVSVC_HELP" {
				t.Errorf("%s names %s, which is no flag of a command", path, name)
			}
		}
	}
	if named < 100 {
		t.Errorf("found %d names, want at least 100", named)
	}
}

// TestCommandLinePage_ListsCommands checks that doc/command-line.md lists every command.
func TestCommandLinePage_ListsCommands(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	pages := manPages(c)
	listed := map[string]bool{}
	for _, found := range regexp.MustCompile("`(govsvc [a-z0-9 -]+)`").FindAllStringSubmatch(c.read("../doc/command-line.md"), -1) {
		listed[strings.ReplaceAll(found[1], " ", "-")] = true
	}
	commands := 0
	for _, page := range pages {
		name := strings.TrimSuffix(page, ".1")
		if slices.ContainsFunc(pages, func(other string) bool { return strings.HasPrefix(other, name+"-") }) {
			continue // a group of commands
		}
		if commands++; !listed[filepath.Base(name)] {
			t.Errorf("doc/command-line.md does not list %s", filepath.Base(name))
		}
	}
	if commands < 30 {
		t.Errorf("found %d commands, want at least 30", commands)
	}
}

// TestGuides_NameExistingCommands checks that each command in the text of the documentation
// exists and has the flags shown with it.
func TestGuides_NameExistingCommands(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	files, err := filepath.Glob("../doc/*.md")
	must(t, err)
	more, err := filepath.Glob("../*.md")
	must(t, err)
	span := regexp.MustCompile("`govsvc ([^`]+)`")
	flag := regexp.MustCompile(`--[a-z0-9]+([.-][a-z0-9]+)*`)
	helps := map[string]string{}
	seen := 0
	for _, path := range append(files, more...) {
		for _, found := range span.FindAllStringSubmatch(strings.ReplaceAll(c.read(path), "\n", " "), -1) {
			var command []string
			for word := range strings.FieldsSeq(found[1]) {
				if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(word) {
					break
				}
				command = append(command, word)
			}
			name := strings.Join(command, " ")
			if _, known := helps[name]; !known {
				o := c.run(append(command, "--help")...)
				if o.status != 0 || len(command) > 0 && !strings.Contains(o.stdout, "\n  govsvc "+name) {
					t.Errorf("%s names `govsvc %s`, which is no command: %s", path, found[1], o.stderr)
				}
				helps[name] = o.stdout
			}
			for _, f := range flag.FindAllString(found[1], -1) {
				if !strings.Contains(helps[name], f+" ") {
					t.Errorf("%s names `govsvc %s`, which has no flag %s", path, found[1], f)
				}
			}
			seen++
		}
	}
	if seen < 40 {
		t.Errorf("only %d commands were found", seen)
	}
}
