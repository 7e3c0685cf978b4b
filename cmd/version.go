package cmd

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"govsvc/db"
)

// Set by a release: go build -ldflags "-X govsvc/cmd.version=v1.2.3 -X govsvc/cmd.commit=…".
// Otherwise the information that the Go command stored in the binary is used.
var version, commit string

// buildInfo are the versions of the program and its parts.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	SQLite  string `json:"sqlite"`
}

func programVersion() buildInfo {
	a := buildInfo{Version: version, Commit: commit, Go: runtime.Version(), SQLite: db.SQLiteVersion}
	if build, ok := debug.ReadBuildInfo(); ok {
		a.Version = cmp.Or(a.Version, build.Main.Version)
		if a.Commit == "" {
			a.Commit = builtFrom(build.Settings)
		}
	}
	a.Version, a.Commit = cmp.Or(a.Version, "(devel)"), cmp.Or(a.Commit, "unknown")
	return a
}

// builtFrom returns the commit that the Go command stored, with a mark if files had
// uncommitted changes.
func builtFrom(settings []debug.BuildSetting) string {
	revision, changed := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + changed
}

func newVersionCommand(a *app) *cobra.Command {
	withLicenses := false
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of govsvc, Go and SQLite, and the commit",
		Long: "Print the version and commit of govsvc, and the versions of Go and SQLite in it.\n\n" +
			"With --licenses, print the licences of govsvc and of all third-party code in it.",
		Example: "  govsvc version --json\n  govsvc version --licenses",
		Args:    arguments(),
		RunE: func(*cobra.Command, []string) error {
			if withLicenses {
				return printLicenses(a)
			}
			v := programVersion()
			return a.print(v, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "govsvc %s\ncommit %s\nGo     %s\nSQLite %s\n", v.Version, v.Commit, v.Go, v.SQLite)
				return err
			})
		},
	}
	c.Flags().BoolVar(&withLicenses, "licenses", false, "print the licences of govsvc and of all code in it")
	a.jsonFlag(c)
	return c
}

// printLicenses prints the texts, with --json as one string.
func printLicenses(a *app) error {
	var text strings.Builder
	if err := writeLicenses(&text); err != nil {
		return err
	}
	return a.print(map[string]string{"licenses": text.String()}, func(w io.Writer) error {
		_, err := io.WriteString(w, text.String())
		return err
	})
}

// licenseFiles are the texts that a distributed program must carry. A test keeps
// govsvc.txt equal to LICENSE and writes modules.txt from the Go modules that
// are linked in.
//
//go:embed licenses/*.txt
var licenseFiles embed.FS

// licenseParts are the texts in the order in which they are printed.
var licenseParts = []struct{ title, file string }{
	{"govsvc", "govsvc.txt"},
	{"Go modules in this program", "modules.txt"},
	{"Swagger UI, which shows /docs, and the packages in it", "swagger-ui.txt"},
}

// writeLicenses writes the licence of govsvc and of everything embedded in it.
func writeLicenses(w io.Writer) error {
	for _, part := range licenseParts {
		text, err := licenseFiles.ReadFile("licenses/" + part.file)
		if err != nil {
			return err
		}
		line := strings.Repeat("=", 72)
		if _, err := fmt.Fprintf(w, "%s\n%s\n%s\n\n%s\n", line, part.title, line, text); err != nil {
			return err
		}
	}
	return nil
}
