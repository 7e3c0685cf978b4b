package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMan_DescribesEachCommand checks that each command has a page with its flags, that
// the pages use only known macros, and that every run writes the same pages.
func TestMan_DescribesEachCommand(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	first, second := filepath.Join(c.dir, "a", "man1"), filepath.Join(c.dir, "b")
	if out := c.must("man", first) + c.must("man", second); out != "" {
		t.Errorf("it printed %q", out)
	}
	pages, err := os.ReadDir(first)
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	macro := regexp.MustCompile(`(?m)^[.'].*$`)
	known := regexp.MustCompile(`^\.(TH "|SH [A-Z]|TP$|PP$|EX$|EE$|BR? [a-z])`)
	for _, page := range pages {
		text := c.read(filepath.Join(first, page.Name()))
		for _, line := range macro.FindAllString(text, -1) {
			if !known.MatchString(line) {
				t.Errorf("%s: the line %q", page.Name(), line)
			}
		}
		if open, shut := strings.Count(text, "\n.EX\n"), strings.Count(text, "\n.EE\n"); open != shut {
			t.Errorf("%s: %d examples begin and %d end", page.Name(), open, shut)
		}
		if text != c.read(filepath.Join(second, page.Name())) {
			t.Errorf("%s differs from run to run", page.Name())
		}
		command := strings.Split(strings.TrimSuffix(page.Name(), ".1"), "-")[1:]
		for _, flag := range regexp.MustCompile(`(?m)^ +(?:-h, )?--([a-z0-9.-]+)`).FindAllStringSubmatch(c.must(append(command, "--help")...), -1) {
			if !strings.Contains(text, `\-\-`+strings.ReplaceAll(flag[1], "-", `\-`)+`\fR`) {
				t.Errorf("%s has no --%s", page.Name(), flag[1])
			}
		}
	}
	for _, listed := range []string{"\n  man ", "\n  completion "} {
		if help := c.must("--help"); !strings.Contains(help, listed) {
			t.Errorf("the help does not list%s:\n%s", strings.TrimSpace(listed), help)
		}
	}
	c.refused(2, "man")
	c.refused(1, "man", c.file("file", ""))
}
