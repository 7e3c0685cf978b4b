package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/check"
)

func newCheckCommand(a *app) *cobra.Command {
	var o check.Options
	c := &cobra.Command{
		Use:        "check",
		SuggestFor: []string{"doctor", "health", "status", "fsck"},
		Short:      "Check the health of the data file",
		Long: `Check the data file without changing it, also while "govsvc serve" runs on it.
Each check is a line that begins with "ok", "warn" or "FAIL". The exit status is
1 if a check failed and 0 otherwise, for cron and monitoring. The checks:

integrity      the structure of the file is intact, and every reference leads to
               a row; --full also compares each index with its table and looks
               up records in the search index, which takes three times as long
schema         with --full: the tables, indexes, triggers and views are those of
               the file's version
version        the file has the schema version of this program
audit log      no event of any organisation was altered or removed
deliveries     no webhook has been due for more than 10 minutes; otherwise
               neither "govsvc serve" nor "govsvc deliver" is running
disk space     100 MB are free, and as much as the data file takes: room for the
               copy that is made before an upgrade
last backup    the last attempt succeeded and, with --backup-within, is not
               older than that. A warning says that no backup is known. Copies
               that other programs made are not known
file access    a warning lists the files that other users of the system can
               read: the data file, the files beside it, and backups in the
               folder of the last one

--json prints an object: ok, path and checks, each with name, ok, status (ok,
warning or failed) and detail.`,
		Example: `  govsvc check
  govsvc check --full --backup-within 26h
  govsvc check --json | jq -r '.checks[] | select(.ok | not) | .detail'`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error { return runCheck(c.Context(), a, o) },
	}
	c.Flags().BoolVar(&o.Full, "full", false, "also compare each index with its table, and the schema with that of the version")
	c.Flags().Var(durationValue{&o.BackupWithin, 0}, "backup-within", "fail if the last backup is older than this; 0s allows any age")
	a.jsonFlag(c)
	return c
}

func runCheck(ctx context.Context, a *app, o check.Options) error {
	store, err := db.OpenToRead(ctx, a.path)
	if err != nil {
		return err
	}
	bad := 0
	found, err := check.Run(ctx, store, o, func(result check.Result) {
		if !result.OK {
			bad++
		}
	})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	for i := range found.Checks {
		found.Checks[i].Detail = oneLine(found.Checks[i].Detail)
	}
	err = errors.Join(a.print(found, func(w io.Writer) error { return printCheckReport(w, found) }), store.Close())
	if err == nil && bad > 0 {
		err = fmt.Errorf("%d of %d checks failed", bad, len(found.Checks))
	}
	return err
}

func printCheckReport(w io.Writer, found check.Report) error {
	for _, f := range found.Checks {
		mark := map[string]string{check.StatusOK: "ok", check.StatusWarning: "warn", check.StatusFailed: "FAIL"}[f.Status]
		fmt.Fprintf(w, "%-4s  %-11s  %s\n", mark, f.Name, f.Detail)
	}
	return nil
}
