package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
)

// Bounds of `govsvc check`.
const (
	// stuckAfter is how long a delivery may be due without being claimed.
	stuckAfter = 10 * time.Minute
	// leastSpace is how much room a disk must have in any case.
	leastSpace = 100 << 20
	// clockStep is how far a clock may be set back without a word.
	clockStep = time.Minute
)

// checkOptions are the flags of check.
type checkOptions struct {
	full         bool
	backupWithin time.Duration
}

func (a *app) checkCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:        "check",
		SuggestFor: []string{"doctor", "health", "status", "fsck"},
		Short:      "Check the health of the data file",
		Long: `Check the data file without changing it, also while "govsvc serve" runs on it.
Each check is a line, marked "ok" or "FAIL"; the exit status is 0 if all are
well and 1 if one is not, for cron and monitoring. The checks:

integrity      the structure of the file is sound, and every reference leads to
               a row; --full compares each index with its table, too, and looks
               up records in the search index, which takes three times as long
version        the file has the tables of this program
audit log      no event of any organisation was altered or removed
deliveries     no webhook has been due for more than 10 minutes: else neither
               "govsvc serve" nor "govsvc deliver" is at work
disk space     there are 100 MB left, and as much as the data file has: room for
               the copy that is made before an upgrade
last backup    the last attempt succeeded and, with --backup-within, is not older
               than that; copies that other programs made are not known

With --json an object: ok, path and checks, each with name, ok and detail.`,
		Example: `  govsvc check
  govsvc check --full --backup-within 26h
  govsvc check --json | jq -r '.checks[] | select(.ok | not) | .detail'`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error { return a.check(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.full, "full", false, "also compare each index with its table")
	c.Flags().Var(span{&o.backupWithin}, "backup-within", "fail if the last backup is older than this; 0s: whatever its age")
	a.jsonFlag(c)
	return c
}

// finding is the outcome of one check.
type finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// health is what `govsvc check` found.
type health struct {
	OK     bool      `json:"ok"`
	Path   string    `json:"path"`
	Checks []finding `json:"checks"`
}

func (a *app) check(ctx context.Context, o checkOptions) error {
	store, err := db.OpenToRead(ctx, a.path)
	if err != nil {
		return err
	}
	found := health{OK: true, Path: store.Path()}
	bad := 0
	for _, check := range []struct {
		name string
		run  func(context.Context, *db.DB, checkOptions) (detail string, err error)
	}{
		{"integrity", checkIntegrity},
		{"version", checkVersion},
		{"audit log", checkLogs},
		{"deliveries", checkDeliveries},
		{"disk space", checkSpace},
		{"last backup", checkBackup},
	} {
		detail, err := check.run(ctx, store, o)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), store.Close())
		}
		if err != nil {
			detail, found.OK = err.Error(), false
			bad++
		}
		found.Checks = append(found.Checks, finding{check.name, err == nil, oneLine(detail)})
	}
	err = errors.Join(a.print(found, func(w io.Writer) error { return printHealth(w, found) }), store.Close())
	if err == nil && bad > 0 {
		err = fmt.Errorf("%d of %d checks failed", bad, len(found.Checks))
	}
	return err
}

func printHealth(w io.Writer, found health) error {
	for _, f := range found.Checks {
		mark := "ok"
		if !f.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(w, "%-4s  %-11s  %s\n", mark, f.Name, f.Detail)
	}
	return nil
}

func checkIntegrity(ctx context.Context, store *db.DB, o checkOptions) (string, error) {
	faults, err := store.Faults(ctx, o.full)
	if err == nil && len(faults) == 0 && o.full {
		faults, err = store.SearchFaults(ctx)
	}
	switch {
	case err != nil:
		return "", err
	case len(faults) > 0:
		return "", fmt.Errorf("the file is damaged: %s; keep it, and restore a backup (`govsvc restore --help`)", strings.Join(faults, "; "))
	case o.full:
		return "the whole file is sound", nil
	}
	return "the file is sound; --full also compares indexes with tables", nil
}

func checkVersion(ctx context.Context, store *db.DB, _ checkOptions) (string, error) {
	have, want, err := store.Versions(ctx)
	switch {
	case err != nil:
		return "", err
	case have > want:
		return "", fmt.Errorf("the file's version is %d, this program knows up to %d: use the newer program", have, want)
	case have < want:
		return "", fmt.Errorf("the file's version is %d, this program's %d: the next `govsvc serve` of this version migrates it, and keeps a copy", have, want)
	}
	return fmt.Sprintf("%d, as this program", have), nil
}

func checkLogs(ctx context.Context, store *db.DB, _ checkOptions) (string, error) {
	orgs, err := store.Organisations(ctx)
	if err != nil {
		return "", err
	}
	events := 0
	var broken []string
	for _, org := range orgs {
		check, err := store.CheckAudit(ctx, org.Org, "")
		if err != nil {
			return "", err
		}
		if err := brokenLog(org.Name, check, ""); err != nil {
			broken = append(broken, err.Error())
		}
		events += check.Events
	}
	if len(broken) > 0 {
		return "", errors.New(strings.Join(broken, "; "))
	}
	return fmt.Sprintf("%s of %s, all sound", counted(events, "event"), counted(len(orgs), "organisation")), nil
}

func checkDeliveries(ctx context.Context, store *db.DB, _ checkOptions) (string, error) {
	n, oldest, err := store.Stuck(ctx, store.Now().Add(-stuckAfter))
	switch {
	case err != nil:
		return "", err
	case n == 1:
		return "", fmt.Errorf("1 webhook has been due since %s: start `govsvc serve` or `govsvc deliver`", oldest)
	case n > 1:
		return "", fmt.Errorf("%d webhooks are overdue, the oldest since %s: start `govsvc serve` or `govsvc deliver`", n, oldest)
	}
	return "none is overdue", nil
}

func checkSpace(_ context.Context, store *db.DB, _ checkOptions) (string, error) {
	free, err := db.FreeSpace(store.Path())
	if err != nil {
		return "", err
	}
	log := store.LogSize()
	text := fmt.Sprintf("%s free; the file has %s, the log beside it %s", size(free), size(store.Size()), size(log))
	if free < max(leastSpace, store.Size()) {
		return "", fmt.Errorf("%s: make room, or an upgrade and then writes will fail", text)
	}
	return text, nil
}

func checkBackup(ctx context.Context, store *db.DB, o checkOptions) (string, error) {
	last, err := store.LastBackup(ctx)
	if err != nil {
		return "", err
	}
	if f := last.Failed; f != nil {
		return "", fmt.Errorf("the last attempt, at %s, failed: %s", f.At, f.Error)
	}
	if last.Made == nil {
		if o.backupWithin > 0 {
			return "", errors.New("none is known; see `govsvc backup --help`")
		}
		return "none is known; see `govsvc backup --help`", nil
	}
	at, err := db.ParseTimestamp(last.Made.At)
	if err != nil {
		return "", err
	}
	age := store.Now().Sub(at).Round(time.Second)
	text := fmt.Sprintf("%s ago, at %s: %s, %s", age, last.Made.At, last.Made.Path, size(last.Made.Bytes))
	switch {
	case o.backupWithin > 0 && age > o.backupWithin:
		return "", fmt.Errorf("%s: older than %s", text, span{&o.backupWithin})
	case o.backupWithin > 0 && age < -clockStep:
		return "", fmt.Errorf("%s: of a time to come, so that its age is not known; set the clock right and make another", text)
	}
	return text, nil
}
