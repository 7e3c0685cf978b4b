package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"govsvc/server/transfer"
)

// printImportSchema prints the schema of a type of the data format.
func printImportSchema(a *app, c *cobra.Command, args []string, object string) error {
	if len(args) > 0 {
		return usageErrorf("--schema prints a schema and imports nothing: use it without files%s", helpHint(c))
	}
	document, err := loadDocument()
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, document.RecordSchema(object), "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, indented.String())
	return err
}

func printImportTemplate(a *app, c *cobra.Command, args []string, object string) error {
	if len(args) > 0 {
		return usageErrorf("--template prints a header row and imports nothing: use it without files%s", helpHint(c))
	}
	document, err := loadDocument()
	if err != nil {
		return err
	}
	columns := transfer.Template(document, object)
	return a.print(columns, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, strings.Join(columns, ","))
		return err
	})
}
