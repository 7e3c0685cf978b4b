package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/openapi"
	"govsvc/server/siem"
)

// siemFormat is a form in which audit events are written.
type siemFormat string

const (
	formatNDJSON siemFormat = "ndjson"
	formatCEF    siemFormat = "cef"
	formatOCSF   siemFormat = "ocsf"
)

const (
	// followEvery is how often --follow looks for new events.
	followEvery = 250 * time.Millisecond
	// auditPage is how many events are written together.
	auditPage = 1000
)

// auditExport is the state of an export: its flags and how far it has come.
type auditExport struct {
	format       siemFormat
	since, until string
	cursorFile   string
	follow       bool
	out          string

	store  *db.DB
	org    db.Organisation
	encode func([]byte) ([]byte, error)
	cursor auditCursor
	log    *auditFile // nil unless events are appended to a file
	from   string     // the hash before the first event written
	chain  db.AuditChain
}

func newAuditExportCommand(a *app) *cobra.Command {
	e := auditExport{format: formatNDJSON}
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the audit log out for a SIEM, once or as it grows",
		Long: `Write an organisation's audit events, oldest first, one a line:

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
the file has each event once, also after a crash: events behind the cursor are
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
	source := siem.Source{Version: programVersion().Version, OrganisationID: e.org.ID, OrganisationName: e.org.Name}
	e.encode = map[siemFormat]func([]byte) ([]byte, error){
		formatNDJSON: func(event []byte) ([]byte, error) { return event, nil },
		formatCEF:    source.CEF,
		formatOCSF:   source.OCSF,
	}[e.format]
	if err := e.checkFiles(); err != nil {
		return err
	}
	if err := e.resume(ctx); err != nil {
		return err
	}
	resumed := e.cursor.Cursor != ""
	if err := e.recordAudit(ctx, a.actor(e.org.Org)); err != nil {
		return err
	}
	switch {
	case e.out == "" || e.out == "-":
		err = e.run(ctx, a.stdout)
	case e.cursorFile == "" && !e.follow:
		err = writeFile(e.store, e.out, func(w io.Writer) error { return e.run(ctx, w) })
	default:
		if e.log, err = openAuditFile(e.out, e.cursor); err != nil {
			return err
		}
		err = errors.Join(e.run(ctx, e.log), e.log.file.Close())
	}
	if err == nil && e.format == formatNDJSON && !e.follow && !resumed {
		a.note("%s", e.summary())
	}
	return err
}

// resume reads the cursor file. It refuses the cursor of another log.
func (e *auditExport) resume(ctx context.Context) error {
	if e.cursorFile == "" {
		return nil
	}
	var err error
	if e.cursor, err = readCursor(e.cursorFile); err != nil {
		return err
	}
	if err := checkReplaceable(e.cursorFile); err != nil || e.cursor.Cursor == "" {
		return err
	}
	_, err = e.store.Audit.Events(ctx, e.org, db.AuditQuery{Cursor: e.cursor.Cursor, Limit: 1})
	if db.Is(err, db.InvalidCursor) {
		return fmt.Errorf("--cursor-file: %s holds a cursor of another data file or organisation (it names %q); give another, or remove it to start over",
			e.cursorFile, e.cursor.Organisation)
	}
	return err
}

// recordAudit records the export in the log before any event is written.
func (e *auditExport) recordAudit(ctx context.Context, by db.Actor) error {
	metadata := db.Metadata{"format": e.format, "follow": e.follow, "resumed": e.cursor.Cursor != ""}
	if e.since != "" {
		metadata["since"] = e.since
	}
	if e.until != "" {
		metadata["until"] = e.until
	}
	return e.store.Write(ctx, by, func(tx *db.Tx) error {
		return tx.Audit(db.AuditEvent{Action: "audit.exported", Category: db.Export, Severity: db.SeverityRead, Metadata: metadata})
	})
}

// run writes page after page until the last one or, with --follow, until ctx ends.
func (e *auditExport) run(ctx context.Context, w io.Writer) error {
	query := db.AuditQuery{Cursor: e.cursor.Cursor, Limit: auditPage, Since: e.since, Until: e.until}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		page, err := e.store.Audit.Events(ctx, e.org, query)
		if err != nil {
			if e.follow && ctx.Err() != nil {
				return nil
			}
			return err
		}
		if len(page.Events) > 0 {
			if err := e.write(ctx, w, page); err != nil {
				return err
			}
			query.Cursor = page.Next
		}
		if page.HasMore {
			continue
		}
		if !e.follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// write writes a page, and then the cursor after it.
func (e *auditExport) write(ctx context.Context, w io.Writer, page db.AuditPage) error {
	if err := e.noteStart(ctx, page); err != nil {
		return err
	}
	var lines bytes.Buffer
	for _, event := range page.Events {
		line, err := e.encode(event)
		if err != nil {
			return err
		}
		lines.Write(line)
		lines.WriteByte('\n')
		e.chain.Add(event)
	}
	if _, err := w.Write(lines.Bytes()); err != nil {
		return fmt.Errorf("can't write the events: %w", err)
	}
	if e.cursorFile == "" {
		return nil
	}
	e.cursor = auditCursor{Organisation: e.org.Name, Cursor: page.Next}
	if e.log != nil {
		if err := e.log.sync(&e.cursor); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return e.cursor.write(e.cursorFile)
}

// noteStart notes the hash before the first event that is written.
func (e *auditExport) noteStart(ctx context.Context, page db.AuditPage) error {
	if e.from != "" {
		return nil
	}
	var err error
	if e.from, err = e.store.Audit.HashBefore(context.WithoutCancel(ctx), e.org.Org, page); err != nil {
		return err
	}
	e.chain, err = db.AuditChainFrom(e.from)
	return err
}

// summary is what a later check of the file needs.
func (e *auditExport) summary() string {
	switch {
	case e.from == "":
		return "no events to export"
	case e.from == new(db.AuditChain).Head():
		return fmt.Sprintf("%d events exported, head %s", e.chain.Events(), e.chain.Head())
	}
	return fmt.Sprintf("%d events exported, from %s, head %s", e.chain.Events(), e.from, e.chain.Head())
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
