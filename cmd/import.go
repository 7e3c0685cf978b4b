package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/transfer"
)

const importHelp = `Load records into an organisation from files or, for "-", from standard input.

A record is a JSON object. Its member "object" names the type, and the other
members have the names of the API. A file is one record on each line (ndjson); a
JSON array, a list envelope of the API or a single record (json); or a table
(csv). The natural key of a record, such as risk_id or vendor_key, identifies
it. A stored record with that key is updated, or left unchanged if nothing
differs. So the same file can be imported twice.

All files are checked first, and nothing is written unless all records are
valid. Two records with one natural key are an error, in one file or in two. A
record can only refer to records before it or to stored ones: a roadmap comes
before its milestones, a kpi before its check-ins. An export has this order.
--schema prints the JSON Schema (draft 2020-12) of a type's records.

Each record that is created or changed has an event of its own in the audit log,
with the id of the import. --reason is recorded with each of them. It is also
the evidence for each risk that is re-rated, or whose change needs a reason in
the API, unless the record has its own severity_change_reason.

Errors are listed on stderr as FILE:LINE: MEMBER: REASON, and the exit status is
1. The result is a table of the numbers of records that were created, updated
and unchanged. With --json it is an object, also if there are errors: records,
dry_run, types, faults and more_faults (the number of errors that are not
listed).

CSV is UTF-8 with a header row of members' names in any order. The first comma,
semicolon or tab in the header row is the separator. --type names the type of
the rows, unless a column "object" does. --template prints such a header row.
  text      unchanged; in quotation marks if it has a separator, a line end or a
            quotation mark, which is doubled (""). An apostrophe before a text
            that begins with = + - or @ is removed. The CSV of the dashboard has
            it so that spreadsheets do not read the text as a formula
  numbers   with a decimal point: 1234.5
  booleans  true or false
  dates     2026-12-31; timestamps 2026-12-31T08:30:00Z. Other formats of
            spreadsheets are refused: set such columns to YYYY-MM-DD or to text
  lists     texts with ";" between them: GDPR;AI Act. A list with a ";" inside a
            text, and the empty list, are JSON: ["a;b","c"] and []
  others    JSON, such as an incident's timeline

An empty cell is null if the member may be null. Otherwise the member is missing
from the record, which is an error if it is required. "" is an empty text. Omit
a column to keep the stored values.`

func newImportCommand(a *app) *cobra.Command {
	var options transfer.Options
	var template, schema string
	c := &cobra.Command{
		Use:   "import FILE...",
		Short: "Load records from files",
		Long:  importHelp,
		Example: `  govsvc import risks.ndjson vendors.json
  govsvc import --dry-run --json risks.ndjson
  govsvc import --template risk > risks.csv
  govsvc import --type risk risks.csv
  govsvc import --schema risk > risk.schema.json
  curl -s https://example.com/kpis.ndjson | govsvc import -`,
		RunE: func(c *cobra.Command, args []string) error {
			if template != "" && schema != "" {
				return usageErrorf("--template and --schema exclude each other; give one of them%s", helpHint(c))
			}
			if template != "" {
				return printImportTemplate(a, c, args, template)
			}
			if schema != "" {
				return printImportSchema(a, c, args, schema)
			}
			if err := arguments("FILE...")(c, args); err != nil {
				return err
			}
			if err := typeApplies(c, args, options); err != nil {
				return err
			}
			if err := checkReason(c, &options); err != nil {
				return err
			}
			return runImport(c.Context(), a, args, options)
		},
	}
	c.Flags().Var(choiceValue[transfer.Format]{&options.Format, formats(), "FORMAT"}, "format",
		"format of all files: ndjson, json or csv; default: from the name (.ndjson, .jsonl, .json, .csv, .tsv), else from the content")
	c.Flags().Var(textValue{&options.Type, "TYPE", parseRecordType}, "type", "the type of the rows of CSV files; not needed if they have a column object")
	c.Flags().Var(textValue{&template, "TYPE", parseRecordType}, "template", "print the header row of a CSV file of this type, and import nothing")
	c.Flags().Var(textValue{&schema, "TYPE", parseRecordType}, "schema", "print the JSON Schema of the records of this type, and import nothing")
	c.Flags().BoolVar(&options.DryRun, "dry-run", false, "check everything and show the result, but write nothing")
	c.Flags().StringVar(&options.Reason, "reason", "", "why the records change, a `TEXT` of 20 to 1,000 characters; recorded with each change")
	a.orgFlag(c)
	a.jsonFlag(c)
	return c
}

// checkReason checks the reason and trims it.
func checkReason(c *cobra.Command, options *transfer.Options) error {
	if !c.Flags().Changed("reason") && options.Reason == "" {
		return nil
	}
	reason, wrong := transfer.CheckReason(options.Reason)
	if wrong != "" {
		return usageErrorf("--reason %s%s", wrong, helpHint(c))
	}
	options.Reason = reason
	return nil
}

// typeApplies refuses --type if no file is CSV. Records of the other formats name
// their type.
func typeApplies(c *cobra.Command, paths []string, options transfer.Options) error {
	if options.Type == "" || slices.ContainsFunc(paths, func(path string) bool { return options.FormatOf(path) == transfer.CSV }) {
		return nil
	}
	return usageErrorf("--type is for CSV, and none of the files is CSV: records of the other formats name their type in \"object\"%s", helpHint(c))
}

func runImport(ctx context.Context, a *app, paths []string, options transfer.Options) error {
	sources, release, err := openSources(ctx, a, paths)
	if err != nil {
		return errors.Join(err, release())
	}
	document, err := loadDocument()
	if err != nil {
		return errors.Join(err, release())
	}
	need := mayCreate
	if options.DryRun {
		need = mustExist
	}
	err = a.withOrg(ctx, need, func(store *db.DB, org db.Organisation) error {
		defer collectLess(a, importGC)()
		bar := newBar(a, sources)
		options.Progress = bar.show
		report, err := transfer.Import(ctx, store, document, a.actor(org.Org), sources, options)
		bar.clear()
		emptyLog(ctx, store, sources)
		return printImport(a, report, err)
	})
	return errors.Join(err, release())
}

// importGC is the garbage collector's percentage (GOGC) during an import. An import
// keeps few megabytes and produces much garbage. Compared with 400, it takes 40 MB less
// memory and 3 % more processor time.
const importGC = 200

// collectLess sets the garbage collector's percentage, unless GOGC is set. It returns a
// function that restores the percentage.
func collectLess(a *app, percent int) (restore func()) {
	if given, ok := a.env("GOGC"); ok && given != "" {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}

// openSources opens the files that the arguments name. The caller must call release,
// also after an error.
func openSources(ctx context.Context, a *app, paths []string) (sources []transfer.Source, release func() error, err error) {
	var releases []func() error
	release = func() error {
		var err error
		for _, one := range releases {
			err = errors.Join(err, one())
		}
		return err
	}
	for i, path := range paths {
		if path == "-" && slices.Contains(paths[:i], "-") {
			return nil, release, usageErrorf("standard input (-) is named twice; it can be read once")
		}
		source, done, err := transfer.Open(ctx, path, a.stdin)
		if err != nil {
			return nil, release, err
		}
		sources, releases = append(sources, source), append(releases, done)
	}
	return sources, release, nil
}

// printImport prints the result of an import, or its errors.
func printImport(a *app, report transfer.Report, err error) error {
	var refused *transfer.RefusedError
	faulty := errors.As(err, &refused)
	if err != nil && !faulty {
		return err
	}
	if a.json {
		if err := a.printJSON(report); err != nil {
			return err
		}
	}
	if faulty {
		return refuseImport(a, report, refused)
	}
	if a.json {
		return nil
	}
	if report.DryRun {
		a.note("dry run: nothing was written")
	}
	return printImportCounts(a.stdout, report.Types)
}

// refuseImport lists the errors, unless the JSON report has them.
func refuseImport(a *app, report transfer.Report, refused *transfer.RefusedError) error {
	if !a.json {
		for _, fault := range report.Errors {
			a.note("%s", oneLine(formatRowError(fault)))
		}
	}
	switch {
	case report.MoreErrors > 0:
		return fmt.Errorf("%d errors, the first %d of them listed; nothing was imported: fix them and import again", refused.Total, len(report.Errors))
	case refused.Total > 1:
		return fmt.Errorf("%d errors; nothing was imported: fix them and import again", refused.Total)
	}
	return errors.New("1 error; nothing was imported: fix it and import again")
}

// formatRowError formats an error as FILE:LINE: MEMBER: REASON. A reason that starts
// with the member's name does not repeat it.
func formatRowError(f transfer.ValidationError) string {
	place := f.Source + ":" + strconv.Itoa(f.Line) + ": "
	if f.Member == "" {
		return place + f.Reason
	}
	return place + f.Member + ": " + strings.TrimPrefix(f.Reason, f.Member+" ")
}

func printImportCounts(w io.Writer, counts []transfer.Count) error {
	return tableOf([]string{"TYPE", "CREATED", "UPDATED", "UNCHANGED"}, counts, func(n transfer.Count) []string {
		return []string{n.Type, strconv.Itoa(n.Created), strconv.Itoa(n.Updated), strconv.Itoa(n.Unchanged)}
	})(w)
}
