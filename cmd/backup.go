package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/backup"
	"govsvc/db/check"
)

func newBackupCommand(a *app) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:        "backup FILE",
		SuggestFor: []string{"dump", "copy", "snapshot"},
		Short:      "Copy the data file while it is in use",
		Long: `Copy the data file to FILE, also while "govsvc serve" runs on it. Requests do
not wait for the copy. The copy has everything that was stored before the
command began. It is checked (structure, references, audit logs) and flushed to
the disk before it gets the name FILE. An interrupted backup leaves no file.
Only the owner can read FILE. Protect it like the data file: it has the same
data.

Each organisation's audit log records the backup. "govsvc restore" restores it,
and "govsvc restore --rehearse" tests that. "govsvc serve --backup-dir" makes
backups on a schedule.

--json prints an object: path, at (the start time), bytes, version (of the
schema) and audit_logs. Each organisation's log has org, events and head, which
is the hash of the last event. Keep the head in another place: it shows later
whether events were removed from the end of the log (see "govsvc audit
verify").`,
		Example: `  govsvc backup /backup/govsvc.db
  govsvc backup --force latest.db
  govsvc backup "govsvc-$(date -u +%F).db" --json`,
		Args: arguments("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withStore(c.Context(), mustExist, func(store *db.DB) error {
				return runBackup(c.Context(), a, store, args[0], force)
			})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace FILE if it exists, after the new copy is complete")
	a.jsonFlag(c)
	return c
}

func runBackup(ctx context.Context, a *app, store *db.DB, path string, force bool) error {
	made, err := backup.New(store).Make(ctx, path, force)
	if err != nil {
		return err
	}
	// If it can't be recorded, the backup is still valid. On a full disk it may be the
	// only one possible.
	if err := backup.New(store).Record(ctx, a.actor(0), made); err != nil {
		a.note("warning: the backup is complete, but could not be recorded in the data file and its audit log: %s", oneLine(err.Error()))
	}
	return a.print(made, func(w io.Writer) error {
		fmt.Fprintf(w, "%s: %s, version %d, checked\n", oneLine(made.Path), check.FormatSize(made.Bytes), made.Version)
		return printAuditLogs(w, made.Logs)
	})
}

// printAuditLogs prints the number of events and the head of each audit log.
func printAuditLogs(w io.Writer, logs []backup.AuditLog) error {
	return tableOf([]string{"ORG", "EVENTS", "HEAD"}, logs, func(log backup.AuditLog) []string {
		return []string{log.Name, fmt.Sprint(log.Events), log.Head}
	})(w)
}
