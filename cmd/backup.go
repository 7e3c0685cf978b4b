package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newBackupCommand(a *app) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:        "backup FILE",
		SuggestFor: []string{"dump", "copy", "snapshot"},
		Short:      "Copy the data file while it is in use",
		Long: `Copy the data file to FILE, also while "govsvc serve" runs on it: nobody waits
for it. All that was stored before the command began is in the copy. It is
checked (structure, references, audit logs) and on disk before it gets the name
FILE; an interrupted backup leaves none. FILE can be read by its owner alone,
and holds what the data file holds: guard it alike.

Each organisation's audit log tells of the backup. "govsvc restore" puts it
back, and "govsvc restore --rehearse" tries that. "govsvc serve --backup-dir"
makes backups by itself.

With --json an object: path, at (when it was begun), bytes, version (of the
tables) and audit_logs, for each organisation org, events and head, the hash of
the last event; kept elsewhere, it shows later that a log was not cut off (see
"govsvc audit verify").`,
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
	c.Flags().BoolVar(&force, "force", false, "replace FILE if it is there, once the new copy is whole")
	a.jsonFlag(c)
	return c
}

func runBackup(ctx context.Context, a *app, store *db.DB, path string, force bool) error {
	made, err := store.Backup(ctx, path, force)
	if err != nil {
		return err
	}
	// It stands, and may be all that can be saved from a disk that is full.
	if err := store.NoteBackup(ctx, a.actor(0), made); err != nil {
		a.note("warning: the backup is made and whole, but neither the data file nor its audit log could be told of it: %s", oneLine(err.Error()))
	}
	return a.print(made, func(w io.Writer) error {
		fmt.Fprintf(w, "%s: %s, version %d, checked\n", oneLine(made.Path), formatSize(made.Bytes), made.Version)
		return printAuditLogs(w, made.Logs)
	})
}

// printAuditLogs shows how far the audit logs go.
func printAuditLogs(w io.Writer, logs []db.AuditLog) error {
	rows := make([][]string, len(logs))
	for i, log := range logs {
		rows[i] = []string{log.Name, fmt.Sprint(log.Events), log.Head}
	}
	return table(w, []string{"ORG", "EVENTS", "HEAD"}, rows)
}
