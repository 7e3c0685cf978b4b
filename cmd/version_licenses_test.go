package cmd_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
)

// TestVersion_PrintsLicenses checks that the printed licences are those of govsvc and
// of every module linked in on any supported platform. With -update it writes
// licenses/modules.txt.
func TestVersion_PrintsLicenses(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile(filepath.Join("..", "LICENSE"))
	must(t, err)
	modules := linkedModules(t)
	text := moduleLicenses(t, modules)
	path := filepath.Join("licenses", "modules.txt")
	if testkit.Update() {
		must(t, os.WriteFile(path, []byte(text), 0o644)) //nolint:gosec // part of the repository
		must(t, os.WriteFile(filepath.Join("licenses", "govsvc.txt"), own, 0o644))
	}
	kept, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(string(kept), text); diff != "" {
		t.Errorf("%s is not up to date; run the test with -update (-want +got):\n%s", path, diff)
	}
	swagger, err := os.ReadFile(filepath.Join("licenses", "swagger-ui.txt"))
	must(t, err)
	if version := swaggerVersion(t, modules["github.com/swaggest/swgui"]); !strings.HasPrefix(string(swagger), "swagger-ui "+version+" (Apache-2.0)\n") {
		t.Errorf("licenses/swagger-ui.txt is not of version %s, which is embedded", version)
	}
	c := newCLI(t)
	printed := c.must("version", "--licenses")
	for name, want := range map[string][]byte{"LICENSE": own, path: kept, "swagger-ui.txt": swagger} {
		if !strings.Contains(printed, string(want)) {
			t.Errorf("version --licenses does not print %s", name)
		}
	}
	var asJSON struct{ Licenses string }
	must(t, json.Unmarshal([]byte(c.must("version", "--licenses", "--json")), &asJSON))
	if asJSON.Licenses != printed {
		t.Error("version --licenses --json differs from what is printed without --json")
	}
}

// module is a Go module that is linked into the program.
type module struct{ Path, Version, Dir string }

// linkedModules lists the modules in the programs of all supported platforms.
func linkedModules(t *testing.T) map[string]module {
	t.Helper()
	modules := map[string]module{}
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"} {
		system, processor, _ := strings.Cut(platform, "/")
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", "..")
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
		out, err := list.Output()
		must(t, err)
		for line := range strings.Lines(string(out)) {
			if field := strings.SplitN(strings.TrimSpace(line), " ", 3); len(field) == 3 {
				modules[field[0]] = module{field[0], field[1], field[2]}
			}
		}
	}
	return modules
}

var licenseName = regexp.MustCompile(`(?i)^(licen[sc]e|notice|copying|patents)([.-].*)?$`)

// moduleLicenses returns the text of modules.txt. It has each text once, below the
// names of the modules that have it.
func moduleLicenses(t *testing.T, modules map[string]module) string {
	t.Helper()
	byText, texts := map[string][]string{}, []string{}
	add := func(name, text string) {
		if byText[text] == nil {
			texts = append(texts, text)
		}
		byText[text] = append(byText[text], name)
	}
	add("Go standard library", licenseText(t, modules["golang.org/x/sys"].Dir))
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		m := modules[path]
		text := licenseText(t, m.Dir)
		if text == "" {
			t.Errorf("%s %s has no licence file", m.Path, m.Version)
		}
		add(m.Path+" "+m.Version, text)
	}
	var all strings.Builder
	for i, text := range texts {
		if i > 0 {
			all.WriteString("\n" + strings.Repeat("-", 72) + "\n\n")
		}
		fmt.Fprintf(&all, "%s\n\n%s\n", strings.Join(byText[text], "\n"), text)
	}
	return all.String()
}

// licenseText joins the licence files in a folder and below it.
func licenseText(t *testing.T, folder string) string {
	t.Helper()
	var parts []string
	must(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir() || !licenseName.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		parts = append(parts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")))
		return err
	}))
	return strings.Join(parts, "\n\n")
}

// swaggerVersion returns the version of the Swagger UI in the module that embeds it.
func swaggerVersion(t *testing.T, m module) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.Dir, "Makefile"))
	must(t, err)
	version := regexp.MustCompile(`SWAGGER_UI_VERSION_V5 := v(\S+)`).FindSubmatch(text)
	if version == nil {
		t.Fatal("the module names no version of Swagger UI")
	}
	return string(version[1])
}
