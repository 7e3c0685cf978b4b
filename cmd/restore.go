package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/backup"
)

func newRestoreCommand(a *app) *cobra.Command {
	var force bool
	var rehearse string
	c := &cobra.Command{
		Use:        "restore FILE | --rehearse FILE|FOLDER",
		SuggestFor: []string{"recover", "rollback"},
		Short:      "Replace the data file with a backup",
		Long: `Replace the data file with the backup FILE. FILE is not changed. It is checked
first and refused unless it is intact (structure, references, audit logs). Its
version must not be newer than this program. An older version is migrated.

The data file must be named, with --db or GOVSVC_DB, unless the working
directory has one. A data file that exists is replaced only with --force. It is
kept in the same folder under a name that ends in ".before-restore-" and the
time. Stop "govsvc serve" and "govsvc deliver" first: the restore is refused
while a program has the data file open. If it is interrupted, the data file is
either the former or the restored one. Each organisation's audit log records the
restore.

Changes after the backup are undone: keys revoked since then are valid again,
and webhooks delivered since then are sent again, with the same event ids.

--rehearse changes nothing. It restores a backup, or the newest one in a folder
of "govsvc serve --backup-dir", to a temporary file and counts its rows. It
checks that the live audit logs continue those of the backup. Run it regularly,
also while the service runs.

--json prints an object: path, from, kept ("" if nothing was replaced), version
(of the backup's schema) and audit_logs (org, events, head), as in the backup.
With --rehearse: backup, version, tables (table, restored, live) and audit_logs
(org, events, head, after: how many further events the live log has).`,
		Example: `  govsvc restore /backup/govsvc.db --force
  govsvc restore /backup/govsvc.db --db copy.db
  govsvc restore --rehearse /var/backups/govsvc`,
		Args: cobra.ArbitraryArgs, // checked below, when --rehearse is known
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case rehearse != "" && (len(args) > 0 || force):
				return usageErrorf("--rehearse names the backup and replaces nothing: use it without FILE and --force%s", helpHint(c))
			case rehearse != "":
				return runRehearsal(c.Context(), a, rehearse)
			}
			if err := arguments("FILE")(c, args); err != nil {
				return err
			}
			if err := requireNamedFile(a, c); err != nil {
				return err
			}
			return runRestore(c.Context(), a, args[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace the data file if it exists; it is kept in the same folder")
	c.Flags().StringVar(&rehearse, "rehearse", "", "restore the backup `FILE|FOLDER`, or the newest one in the folder, to a temporary file and compare")
	a.reasonFlag(c)
	a.jsonFlag(c)
	return c
}

// requireNamedFile refuses to make a data file in the working directory unless it was
// named. The service might use another one.
func requireNamedFile(a *app, c *cobra.Command) error {
	if a.settings.source("db") != sourceDefault {
		return nil
	}
	if _, err := os.Lstat(a.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return usageErrorf("no data file is named, and the working directory has no %s: name the one to restore with --db or GOVSVC_DB; nothing was restored%s", a.path, helpHint(c))
}

func runRestore(ctx context.Context, a *app, from string, force bool) error {
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; name a backup in it", from)
	}
	done, err := backup.Restore(ctx, from, db.Options{Path: a.path}, a.actor(0), force)
	if err != nil {
		return err
	}
	if done.Kept != "" {
		a.note("the former data file is kept as %s", oneLine(done.Kept))
	}
	return a.print(done, func(w io.Writer) error {
		fmt.Fprintf(w, "%s: restored from %s\n", oneLine(done.Path), oneLine(done.From))
		return printAuditLogs(w, done.Logs)
	})
}

func runRehearsal(ctx context.Context, a *app, from string) error {
	info, err := os.Stat(from)
	if err == nil && info.IsDir() {
		from, err = backup.Newest(from, a.path, time.Now())
	}
	if err != nil {
		return fmt.Errorf("--rehearse: %w", err)
	}
	if _, err := os.Stat(a.path); a.settings.source("db") == sourceDefault && errors.Is(err, fs.ErrNotExist) {
		a.note("govsvc: warning: there is no %s to compare with; name the data file with --db or GOVSVC_DB", a.path)
	}
	done, err := backup.Rehearse(ctx, from, a.path)
	if err != nil {
		return errors.Join(fmt.Errorf("the rehearsal with %s failed", from), err)
	}
	return a.print(done, func(w io.Writer) error { return printRehearsal(w, done) })
}

func printRehearsal(w io.Writer, done backup.Rehearsal) error {
	fmt.Fprintf(w, "%s: can be restored\n", oneLine(done.Backup))
	var rows [][]string
	for _, t := range done.Tables {
		if t.Restored > 0 || t.Live != nil && *t.Live > 0 {
			rows = append(rows, []string{t.Table, fmt.Sprint(t.Restored), orDashCount(t.Live)})
		}
	}
	if err := table(w, []string{"TABLE", "RESTORED", "LIVE"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, log := range done.Logs {
		rows = append(rows, []string{log.Name, fmt.Sprint(log.Events), orDashCount(log.After), log.Head})
	}
	return table(w, []string{"ORG", "EVENTS", "SINCE", "HEAD"}, rows)
}

func orDashCount(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}
