package cmd

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/transfer"
)

func newExportCommand(a *app) *cobra.Command {
	var options exportOptions
	c := &cobra.Command{
		Use:   "export",
		Short: "Write records in the format that import reads",
		Long: `Write an organisation's records in the format that "govsvc import" reads: one
JSON object on each line (ndjson), one JSON array (json) or, for one type, a
table (csv). All records are of one instant, also while a server changes them.
Keys, users and secrets are never exported.

CSV has a header row, UTF-8, commas and LF. An empty cell is null and "" an
empty text; "govsvc import --help" describes the values. Texts are written
unchanged, including those that begin with = + - or @. A spreadsheet may read
these as formulas unless their column is imported as text. If an apostrophe
precedes such a sign, export adds another apostrophe, which import removes.

With --out the file gets its name when it is complete, and replaces a file of
that name. Only its owner can read it. The audit log records each export.

The types:
` + typesText(),
		Example: `  govsvc export --out backup.ndjson
  govsvc export --type risk --type incident | gzip > risks.ndjson.gz
  govsvc export --type risk --out risks.csv
  govsvc export --org acme --json | jq length`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := options.check(c, a.json); err != nil {
				return err
			}
			return a.withOrg(c.Context(), mustExist, func(store *db.DB, org db.Organisation) error {
				return runExport(c.Context(), a, store, org, options)
			})
		},
	}
	c.Flags().Var(listValue{&options.types, checkRecordType, "TYPE"}, "type", "write this type only; repeatable, or separated by commas; default: all")
	c.Flags().Var(choiceValue[transfer.Format]{&options.format, formats(), "FORMAT"}, "format",
		"ndjson, json or csv, which needs one --type; default: from the name of the file (.ndjson, .jsonl, .json, .csv), else ndjson")
	c.Flags().StringVar(&options.out, "out", "", "write to `FILE` instead of stdout")
	c.Flags().BoolVar(&a.json, "json", false, "write one JSON array: --format json")
	a.orgFlag(c)
	return c
}

// exportOptions are the flags of export.
type exportOptions struct {
	types  []string
	format transfer.Format
	out    string
}

// check determines the format and refuses flags that exclude each other. Above all
// it refuses a file that import would read as another format.
func (o *exportOptions) check(c *cobra.Command, json bool) error {
	if json && o.format != "" {
		return usageErrorf("--json writes one JSON array: use it without --format%s", helpHint(c))
	}
	if json {
		o.format = transfer.JSON
	}
	named := transfer.Options{}.FormatOf(o.out)
	o.format = cmp.Or(o.format, named, transfer.NDJSON)
	switch {
	case named != "" && named != o.format:
		return usageErrorf("--out %s has no name for %s: import would read it as %s%s", o.out, o.format, named, helpHint(c))
	case strings.EqualFold(filepath.Ext(o.out), ".tsv"):
		return usageErrorf("--out %s is a name for tabs, but export writes commas: use .csv%s", o.out, helpHint(c))
	case o.format == transfer.CSV && len(o.types) != 1:
		return usageErrorf("a CSV file has one type: give one --type%s", helpHint(c))
	}
	return nil
}

func runExport(ctx context.Context, a *app, store *db.DB, org db.Organisation, options exportOptions) error {
	document, err := loadDocument()
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		_, err := transfer.Export(ctx, store, document, a.actor(org.Org), org.Org, options.types, options.format, w)
		return err
	}
	if options.out == "" || options.out == "-" {
		return write(a.stdout)
	}
	return writeFile(store, options.out, write)
}
