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
)

func newRestoreCommand(a *app) *cobra.Command {
	var force bool
	var rehearse string
	c := &cobra.Command{
		Use:        "restore FILE | --rehearse FILE|FOLDER",
		SuggestFor: []string{"recover", "rollback"},
		Short:      "Put a backup in the place of the data file",
		Long: `Put the backup FILE in the place of the data file. FILE stays as it is. It is
read whole first, and refused unless it is sound (structure, references, audit
logs) and of no newer version than this program; one of an older version is
migrated.

The data file must be named, with --db or GOVSVC_DB, unless the working
directory has one. One that exists is replaced with --force alone, and kept beside under
a name ending in ".before-restore-" and the time. Stop "govsvc serve" and "govsvc
deliver" first: while anything has the data file open the restore is refused.
Whatever interrupts it, the data file is either the former or the restored one.
Each organisation's audit log tells of the restore.

What was changed after the backup is undone: keys revoked since then are valid
again, and webhooks that were delivered since then are sent again, with the same
event ids.

--rehearse changes nothing: it restores a backup, or the newest of a folder of
"govsvc serve --backup-dir", into a temporary place, counts what is in there,
and checks that the live audit logs go on where those of the backup end. Do it
regularly; it can run while the service does.

With --json an object: path, from, kept ("" if nothing was replaced), version
(of the backup's tables) and audit_logs (org, events, head), as the backup has
them. With --rehearse: backup, version, tables (table, restored, live) and
audit_logs (org, events, head, after: how many events the live log has more).`,
		Example: `  govsvc restore /backup/govsvc.db --force
  govsvc restore /backup/govsvc.db --db copy.db
  govsvc restore --rehearse /var/backups/govsvc`,
		Args: cobra.ArbitraryArgs, // counted once --rehearse is known
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case rehearse != "" && (len(args) > 0 || force):
				return usageErrorf("--rehearse names the backup and replaces nothing: give it without FILE and --force%s", helpHint(c))
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
	c.Flags().BoolVar(&force, "force", false, "replace the data file if it is there; it is kept beside")
	c.Flags().StringVar(&rehearse, "rehearse", "", "restore the backup `FILE|FOLDER`, or the newest in the folder, into a temporary place and compare")
	a.reasonFlag(c)
	a.jsonFlag(c)
	return c
}

// requireNamedFile refuses to make a data file in the working directory unless it was
// named: the service would go on with another one.
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
		return fmt.Errorf("%s is a folder; give a backup in it", from)
	}
	done, err := db.Restore(ctx, from, db.Options{Path: a.path, RestoredBy: a.actor(0)}, force)
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

func runRehearsal(ctx context.Context, a *app, backup string) error {
	info, err := os.Stat(backup)
	if err == nil && info.IsDir() {
		backup, err = db.NewestBackup(backup, a.path, time.Now())
	}
	if err != nil {
		return fmt.Errorf("--rehearse: %w", err)
	}
	if _, err := os.Stat(a.path); a.settings.source("db") == sourceDefault && errors.Is(err, fs.ErrNotExist) {
		a.note("govsvc: warning: there is no %s to compare with; name the data file with --db or GOVSVC_DB", a.path)
	}
	done, err := db.Rehearse(ctx, backup, a.path)
	if err != nil {
		return errors.Join(fmt.Errorf("the rehearsal with %s failed", backup), err)
	}
	return a.print(done, func(w io.Writer) error { return printRehearsal(w, done) })
}

func printRehearsal(w io.Writer, done db.Rehearsal) error {
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
