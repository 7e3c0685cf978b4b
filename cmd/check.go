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
	"govsvc/db/backup"
	"govsvc/db/delivery"
)

// Bounds of `govsvc check`.
const (
	// maxDeliveryDelay is how long a delivery may be due without being claimed.
	maxDeliveryDelay = 10 * time.Minute
	// minFreeSpace is the free space that a disk must always have, in bytes.
	minFreeSpace = 100 << 20
	// maxClockStep is how far a clock may be set back without a failure.
	maxClockStep = time.Minute
)

// checkOptions are the flags of check.
type checkOptions struct {
	full         bool
	backupWithin time.Duration
}

func newCheckCommand(a *app) *cobra.Command {
	var o checkOptions
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
	c.Flags().BoolVar(&o.full, "full", false, "also compare each index with its table, and the schema with that of the version")
	c.Flags().Var(durationValue{&o.backupWithin, 0}, "backup-within", "fail if the last backup is older than this; 0s allows any age")
	a.jsonFlag(c)
	return c
}

// checkResult is the result of one check.
type checkResult struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"` // false if it failed
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// Values of the status of a check.
const (
	statusOK      = "ok"
	statusWarning = "warning"
	statusFailed  = "failed"
)

// checkWarning is an error that needs attention but is not a failure.
type checkWarning string

func (w checkWarning) Error() string { return string(w) }

// newCheckResult returns the result of a check that returned detail and err. On a file
// of an older version a check may lack a table that it needs.
func newCheckResult(name, detail string, err error, older bool) checkResult {
	var warn checkWarning
	switch {
	case err == nil:
		return checkResult{name, true, statusOK, oneLine(detail)}
	case errors.As(err, &warn):
		return checkResult{name, true, statusWarning, oneLine(err.Error())}
	case older && db.LacksSchema(err):
		return checkResult{name, true, statusWarning, "not checked: this file is of an older version"}
	case db.LacksSchema(err):
		err = errors.New("not checked, because a table, a view or a column is missing: run `govsvc check --full`")
	}
	return checkResult{name, false, statusFailed, oneLine(err.Error())}
}

// checkReport is the result of `govsvc check`.
type checkReport struct {
	OK     bool          `json:"ok"`
	Path   string        `json:"path"`
	Checks []checkResult `json:"checks"`
}

// checks are the checks of `govsvc check`, in order.
var checks = []struct {
	name string
	full bool // with --full only
	run  func(context.Context, *db.DB, checkOptions) (detail string, err error)
}{
	{"integrity", false, checkIntegrity},
	{"schema", true, checkSchema},
	{"version", false, checkVersion},
	{"audit log", false, checkLogs},
	{"deliveries", false, checkDeliveries},
	{"disk space", false, checkSpace},
	{"last backup", false, checkBackup},
	{"file access", false, checkAccess},
}

func runCheck(ctx context.Context, a *app, o checkOptions) error {
	store, err := db.OpenToRead(ctx, a.path)
	if err != nil {
		return err
	}
	found := checkReport{OK: true, Path: store.File.Path()}
	bad, older := 0, false
	if have, want, err := store.File.Versions(ctx); err == nil {
		older = have < want
	}
	for _, check := range checks {
		if check.full && !o.full {
			continue
		}
		detail, err := check.run(ctx, store, o)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), store.Close())
		}
		f := newCheckResult(check.name, detail, err, older)
		if !f.OK {
			found.OK = false
			bad++
		}
		found.Checks = append(found.Checks, f)
	}
	err = errors.Join(a.print(found, func(w io.Writer) error { return printCheckReport(w, found) }), store.Close())
	if err == nil && bad > 0 {
		err = fmt.Errorf("%d of %d checks failed", bad, len(found.Checks))
	}
	return err
}

func printCheckReport(w io.Writer, found checkReport) error {
	for _, f := range found.Checks {
		mark := map[string]string{statusOK: "ok", statusWarning: "warn", statusFailed: "FAIL"}[f.Status]
		fmt.Fprintf(w, "%-4s  %-11s  %s\n", mark, f.Name, f.Detail)
	}
	return nil
}

func checkIntegrity(ctx context.Context, store *db.DB, o checkOptions) (string, error) {
	faults, err := backup.New(store).Faults(ctx, o.full)
	if err == nil && len(faults) == 0 && o.full {
		faults, err = store.SearchIndex.Faults(ctx)
		if db.LacksSchema(err) { // checkSchema reports it, unless the file is of an older version
			err = nil
		}
	}
	switch {
	case err != nil:
		return "", err
	case len(faults) > 0:
		return "", fmt.Errorf("the file is damaged: %s; keep it, and restore a backup (`govsvc restore --help`)", strings.Join(faults, "; "))
	case o.full:
		return "the whole file is intact", nil
	}
	return "the file is intact; --full also compares indexes with tables", nil
}

func checkSchema(ctx context.Context, store *db.DB, _ checkOptions) (string, error) {
	faults, err := backup.New(store).SchemaFaults(ctx)
	switch {
	case err != nil:
		return "", err
	case len(faults) > 0:
		return "", fmt.Errorf("%s; another program has changed the file: restore a backup (`govsvc restore --help`)", strings.Join(faults, "; "))
	}
	return "the tables, indexes, triggers and views are those of the version", nil
}

func checkVersion(ctx context.Context, store *db.DB, _ checkOptions) (string, error) {
	have, want, err := store.File.Versions(ctx)
	switch {
	case err != nil:
		return "", err
	case have > want:
		return "", fmt.Errorf("the file's version is %d, this program supports versions up to %d: use the newer program", have, want)
	case have < want:
		return "", fmt.Errorf("this file is of an older version (%d; this program's is %d): the next `govsvc serve` of this version migrates it and keeps a copy", have, want)
	}
	return fmt.Sprintf("%d, as this program", have), nil
}

func checkLogs(ctx context.Context, store *db.DB, _ checkOptions) (string, error) {
	orgs, err := store.Orgs.ListWithRemoved(ctx)
	if err != nil {
		return "", err
	}
	events := 0
	var broken []string
	for _, org := range orgs {
		check, err := store.Audit.Check(ctx, org.Org, "")
		if err != nil {
			return "", err
		}
		if err := auditLogError(org.Name, check, ""); err != nil {
			broken = append(broken, err.Error())
		}
		events += check.Events
	}
	if len(broken) > 0 {
		return "", errors.New(strings.Join(broken, "; "))
	}
	return fmt.Sprintf("%s of %s, all intact", formatCount(events, "event"), formatCount(len(orgs), "organisation")), nil
}

func checkDeliveries(ctx context.Context, store *db.DB, _ checkOptions) (string, error) {
	n, oldest, err := delivery.Stuck(ctx, store, store.Now().Add(-maxDeliveryDelay))
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
	free, err := db.FreeSpace(store.File.Path())
	if err != nil {
		return "", err
	}
	log := store.File.LogSize()
	text := fmt.Sprintf("%s free; the file has %s, the write-ahead log %s", formatSize(free), formatSize(store.File.Size()), formatSize(log))
	if free < max(minFreeSpace, store.File.Size()) {
		return "", fmt.Errorf("%s: free some space, or an upgrade and then writes will fail", text)
	}
	return text, nil
}

func checkBackup(ctx context.Context, store *db.DB, o checkOptions) (string, error) {
	last, err := backup.New(store).Last(ctx)
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
		return "", checkWarning("none is known; see `govsvc backup --help`")
	}
	at, err := db.ParseTimestamp(last.Made.At)
	if err != nil {
		return "", err
	}
	age := store.Now().Sub(at).Round(time.Second)
	text := fmt.Sprintf("%s ago, at %s: %s, %s", age, last.Made.At, last.Made.Path, formatSize(last.Made.Bytes))
	switch {
	case o.backupWithin > 0 && age > o.backupWithin:
		return "", fmt.Errorf("%s: older than %s", text, formatDuration(o.backupWithin))
	case o.backupWithin > 0 && age < -maxClockStep:
		return "", fmt.Errorf("%s: that is in the future, so its age is not known; correct the clock and make another backup", text)
	}
	return text, nil
}

func checkAccess(ctx context.Context, store *db.DB, _ checkOptions) (string, error) {
	exposed, err := backup.New(store).Exposed(ctx)
	if err != nil {
		return "", err
	}
	if len(exposed) > 0 {
		return "", checkWarning(exposedText(exposed))
	}
	return "only the owner can read the data file and its copies", nil
}

// maxExposedNames is how many files a warning names.
const maxExposedNames = 5

// exposedText returns the warning about files that others can read.
func exposedText(exposed []backup.Exposed) string {
	var names []string
	for i, e := range exposed {
		if i == maxExposedNames {
			names = append(names, fmt.Sprintf("and %d more", len(exposed)-i))
			break
		}
		names = append(names, fmt.Sprintf("%s (mode %04o)", e.Path, e.Mode))
	}
	return "other users of this system can read " + strings.Join(names, ", ") + ": set mode 0600"
}
