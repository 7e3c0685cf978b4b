package cmd

import (
	"embed"
	"fmt"
	"io"
	"strings"
)

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
