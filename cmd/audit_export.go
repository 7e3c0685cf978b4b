package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/server/openapi"
	"govsvc/server/siem"
)

// siemFormat is a format of audit events.
type siemFormat string

const (
	formatNDJSON siemFormat = "ndjson"
	formatCEF    siemFormat = "cef"
	formatOCSF   siemFormat = "ocsf"
)

// auditExport are the flags of audit export, and the log that it exports.
type auditExport struct {
	format       siemFormat
	since, until string
	cursorFile   string
	follow       bool
	out          string

	store *db.DB
	org   db.Organisation
}

func newAuditExportCommand(a *app) *cobra.Command {
	e := auditExport{format: formatNDJSON}
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the audit log out for a SIEM, once or as it grows",
		Long: `Write an organisation's audit events, oldest first, one on each line:

  ndjson  the events as the API gives them and as the log's hashes cover them
  cef     ArcSight Common Event Format, version 0
  ocsf    OCSF ` + siem.OCSFVersion + `, class 6003 (API Activity), as JSON

With --cursor-file an export continues where the one before ended. The cursor
file is replaced atomically, after the events before the cursor were written. It
is valid for this data file and organisation only. If it exists, --since is
ignored.

With --follow the export continues until it is interrupted. It writes each event
within a second after the commit, from every process.

--out appends to a file if --cursor-file or --follow is given. Otherwise it
replaces the file once the export is complete. With both --out and --cursor-file
the file has each event once, also after a crash: events after the cursor are
removed first. On stdout an event may be repeated after a crash.

Each export is audited before it begins, so its last event is its own. An NDJSON
export prints on stderr the head that "audit verify --file" checks.`,
		Example: `  govsvc audit export --out audit.ndjson
  govsvc audit export --format cef --cursor-file cef.cursor --out audit.cef
  govsvc audit export --format ocsf --since 2026-09-01 --follow | vector`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			if e.follow && e.until != "" {
				return usageErrorf("--follow and --until exclude each other; give one of them%s", helpHint(c))
			}
			err := a.withAuditLog(c.Context(), func(store *db.DB, org db.Organisation) error {
				e.store, e.org = store, org
				return runAuditExport(c.Context(), a, &e)
			})
			if e.follow {
				err = unlessInterrupted(c.Context(), err)
			}
			return err
		},
	}
	c.Flags().Var(choiceValue[siemFormat]{&e.format, []siemFormat{formatNDJSON, formatCEF, formatOCSF}, "FORMAT"}, "format", "ndjson, cef or ocsf")
	c.Flags().Var(textValue{&e.since, "INSTANT", parseInstant}, "since", "only events at or after this date (midnight UTC) or RFC 3339 time")
	c.Flags().Var(textValue{&e.until, "INSTANT", parseInstant}, "until", "only events before this date or time")
	c.Flags().StringVar(&e.cursorFile, "cursor-file", "", "continue from the cursor in this `FILE` and update it")
	c.Flags().BoolVar(&e.follow, "follow", false, "continue with new events until interrupted")
	c.Flags().StringVar(&e.out, "out", "", "write to `FILE` instead of stdout")
	return c
}

func runAuditExport(ctx context.Context, a *app, e *auditExport) (err error) {
	if err := e.checkFiles(); err != nil {
		return err
	}
	cursor, err := e.resume(ctx)
	if err != nil {
		return err
	}
	resumed := cursor.Cursor != ""
	if err := e.recordAudit(ctx, a.actor(e.org.Org), resumed); err != nil {
		return err
	}
	export := siem.Export{
		Store: e.store, Org: e.org, Encode: e.encoder(), Cursor: cursor.Cursor, Since: e.since, Until: e.until, Follow: e.follow,
	}
	var appended *auditFile // nil unless events are appended to a file
	if e.cursorFile != "" {
		export.Save = func(next string) error { return e.saveCursor(next, appended) }
	}
	switch {
	case e.out == "" || e.out == "-":
		err = export.Run(ctx, a.stdout)
	case e.cursorFile == "" && !e.follow:
		err = writeFile(e.store, e.out, func(w io.Writer) error { return export.Run(ctx, w) })
	default:
		if appended, err = openAuditFile(e.out, cursor); err != nil {
			return err
		}
		err = errors.Join(export.Run(ctx, appended), appended.file.Close())
	}
	if err == nil && e.format == formatNDJSON && !e.follow && !resumed {
		a.note("%s", export.Summary())
	}
	return err
}

// encoder returns the encoder of the format.
func (e *auditExport) encoder() func(event []byte) ([]byte, error) {
	source := siem.Source{Version: programVersion().Version, OrganisationID: e.org.ID, OrganisationName: e.org.Name}
	switch e.format {
	case formatCEF:
		return source.CEF
	case formatOCSF:
		return source.OCSF
	case formatNDJSON:
	}
	return func(event []byte) ([]byte, error) { return event, nil }
}

// resume reads the cursor file. It refuses the cursor of another log.
func (e *auditExport) resume(ctx context.Context) (cursor auditCursor, err error) {
	if e.cursorFile == "" {
		return cursor, nil
	}
	if cursor, err = readCursor(e.cursorFile); err != nil {
		return cursor, err
	}
	if err := checkReplaceable(e.cursorFile); err != nil || cursor.Cursor == "" {
		return cursor, err
	}
	_, err = e.store.Audit.Events(ctx, e.org, db.AuditQuery{Cursor: cursor.Cursor, Limit: 1})
	if db.Is(err, db.InvalidCursor) {
		return cursor, fmt.Errorf("--cursor-file: %s has a cursor of another data file or organisation (it names %q); name another file, or remove it to start over",
			e.cursorFile, cursor.Organisation)
	}
	return cursor, err
}

// saveCursor stores the cursor after a page. appended is the file of the events, or
// nil.
func (e *auditExport) saveCursor(next string, appended *auditFile) error {
	cursor := auditCursor{Organisation: e.org.Name, Cursor: next}
	if appended != nil {
		if err := appended.sync(&cursor); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return cursor.write(e.cursorFile)
}

// recordAudit records the export in the log before any event is written.
func (e *auditExport) recordAudit(ctx context.Context, by db.Actor, resumed bool) error {
	metadata := audit.Metadata{"format": e.format, "follow": e.follow, "resumed": resumed}
	if e.since != "" {
		metadata["since"] = e.since
	}
	if e.until != "" {
		metadata["until"] = e.until
	}
	return e.store.Write(ctx, by, func(tx *db.Tx) error {
		return tx.Audit(audit.Event{Action: "audit.exported", Category: audit.Export, Severity: audit.SeverityRead, Metadata: metadata})
	})
}

// parseInstant parses a date, which means midnight UTC, or an RFC 3339 timestamp.
// It returns the timestamp as the audit log stores it.
func parseInstant(text string) (string, error) {
	at, err := openapi.ParseInstant(text)
	if err != nil {
		return "", fmt.Errorf("%q is not a date like 2026-09-12 (midnight UTC) or a time like 2026-09-12T08:30:00Z", text)
	}
	// Stored timestamps have whole milliseconds. The next one is the first that can
	// be at or after this instant.
	return db.Timestamp(at.Add(time.Millisecond - 1).Truncate(time.Millisecond)), nil
}
