// Package check checks the health of a data file, for the command line and the dashboard.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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

// Options select checks.
type Options struct {
	Full         bool          // also compare indexes with tables, and the schema with the version's
	BackupWithin time.Duration // the last backup must not be older; 0 allows any age
	// OrgName names an organisation in the results; nil uses its name.
	OrgName func(db.Organisation) string
}

func (o Options) orgName(org db.Organisation) string {
	if o.OrgName == nil {
		return org.Name
	}
	return o.OrgName(org)
}

// Result is the result of one check.
type Result struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"` // false if it failed
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// Values of the status of a check.
const (
	StatusOK      = "ok"
	StatusWarning = "warning"
	StatusFailed  = "failed"
)

// warning is an error that needs attention but is not a failure.
type warning string

func (w warning) Error() string { return string(w) }

// newResult returns the result of a check that returned detail and err. On a file
// of an older version a check may lack a table that it needs.
func newResult(name, detail string, err error, older bool) Result {
	var warn warning
	switch {
	case err == nil:
		return Result{name, true, StatusOK, detail}
	case errors.As(err, &warn):
		return Result{name, true, StatusWarning, err.Error()}
	case older && db.LacksSchema(err):
		return Result{name, true, StatusWarning, "not checked: this file is of an older version"}
	case db.LacksSchema(err):
		err = errors.New("not checked, because a table, a view or a column is missing: run `govsvc check --full`")
	}
	return Result{name, false, StatusFailed, err.Error()}
}

// Report is the result of `govsvc check`.
type Report struct {
	OK     bool     `json:"ok"`
	Path   string   `json:"path"`
	Checks []Result `json:"checks"`
}

// checks are the checks of `govsvc check`, in order.
var checks = []struct {
	name string
	full bool // with --full only
	run  func(context.Context, *db.DB, Options) (detail string, err error)
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

// Count returns how many checks a run has.
func (o Options) Count() int {
	n := 0
	for _, check := range checks {
		if o.Full || !check.full {
			n++
		}
	}
	return n
}

// Run runs the checks, without changing the file. It calls each with every result as soon
// as it is known. A check that fails is not an error; the end of ctx is one.
func Run(ctx context.Context, store *db.DB, o Options, each func(Result)) (Report, error) {
	found := Report{OK: true, Path: store.File.Path()}
	older := false
	if have, want, err := store.File.Versions(ctx); err == nil {
		older = have < want
	}
	for _, check := range checks {
		if check.full && !o.Full {
			continue
		}
		detail, err := check.run(ctx, store, o)
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		f := newResult(check.name, detail, err, older)
		found.OK = found.OK && f.OK
		found.Checks = append(found.Checks, f)
		each(f)
	}
	return found, nil
}

func checkIntegrity(ctx context.Context, store *db.DB, o Options) (string, error) {
	faults, err := backup.New(store).Faults(ctx, o.Full)
	if err == nil && len(faults) == 0 && o.Full {
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
	case o.Full:
		return "the whole file is intact", nil
	}
	return "the file is intact; --full also compares indexes with tables", nil
}

func checkSchema(ctx context.Context, store *db.DB, _ Options) (string, error) {
	faults, err := backup.New(store).SchemaFaults(ctx)
	switch {
	case err != nil:
		return "", err
	case len(faults) > 0:
		return "", fmt.Errorf("%s; another program has changed the file: restore a backup (`govsvc restore --help`)", strings.Join(faults, "; "))
	}
	return "the tables, indexes, triggers and views are those of the version", nil
}

func checkVersion(ctx context.Context, store *db.DB, _ Options) (string, error) {
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

func checkLogs(ctx context.Context, store *db.DB, o Options) (string, error) {
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
		if err := AuditLogError(o.orgName(org), check, ""); err != nil {
			broken = append(broken, err.Error())
		}
		events += check.Events
	}
	if len(broken) > 0 {
		return "", errors.New(strings.Join(broken, "; "))
	}
	return fmt.Sprintf("%s of %s, all intact", count(events, "event"), count(len(orgs), "organisation")), nil
}

func checkDeliveries(ctx context.Context, store *db.DB, _ Options) (string, error) {
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

func checkSpace(_ context.Context, store *db.DB, _ Options) (string, error) {
	free, err := db.FreeSpace(store.File.Path())
	if err != nil {
		return "", err
	}
	log := store.File.LogSize()
	text := fmt.Sprintf("%s free; the file has %s, the write-ahead log %s", FormatSize(free), FormatSize(store.File.Size()), FormatSize(log))
	if free < max(minFreeSpace, store.File.Size()) {
		return "", fmt.Errorf("%s: free some space, or an upgrade and then writes will fail", text)
	}
	return text, nil
}

func checkBackup(ctx context.Context, store *db.DB, o Options) (string, error) {
	last, err := backup.New(store).Last(ctx)
	if err != nil {
		return "", err
	}
	if f := last.Failed; f != nil {
		return "", fmt.Errorf("the last attempt, at %s, failed: %s", f.At, f.Error)
	}
	if last.Made == nil {
		if o.BackupWithin > 0 {
			return "", errors.New("none is known; see `govsvc backup --help`")
		}
		return "", warning("none is known; see `govsvc backup --help`")
	}
	at, err := db.ParseTimestamp(last.Made.At)
	if err != nil {
		return "", err
	}
	age := store.Now().Sub(at).Round(time.Second)
	text := fmt.Sprintf("%s ago, at %s: %s, %s", age, last.Made.At, last.Made.Path, FormatSize(last.Made.Bytes))
	switch {
	case o.BackupWithin > 0 && age > o.BackupWithin:
		return "", fmt.Errorf("%s: older than %s", text, FormatDuration(o.BackupWithin))
	case o.BackupWithin > 0 && age < -maxClockStep:
		return "", fmt.Errorf("%s: that is in the future, so its age is not known; correct the clock and make another backup", text)
	}
	return text, nil
}

func checkAccess(ctx context.Context, store *db.DB, _ Options) (string, error) {
	exposed, err := backup.New(store).Exposed(ctx)
	if err != nil {
		return "", err
	}
	if len(exposed) > 0 {
		return "", warning(ExposedText(exposed))
	}
	return "only the owner can read the data file and its copies", nil
}

// maxExposedNames is how many files a warning names.
const maxExposedNames = 5

// ExposedText returns the warning about files that others can read.
func ExposedText(exposed []backup.Exposed) string {
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

// AuditLogError describes what is wrong with a log; nil if it is intact.
func AuditLogError(org string, check db.AuditCheck, head string) error {
	switch broken := check.Broken; {
	case broken != nil && broken.Gone:
		return fmt.Errorf("the audit log of %q is broken: its events from number %d on are gone; "+
			"keep this file as evidence and compare it with a backup", org, broken.Position)
	case broken != nil:
		return fmt.Errorf("the audit log of %q is broken at event %d (id %s, time %s): it or its predecessor was altered; "+
			"keep this file as evidence and compare it with a backup", org, broken.Position, cmp.Or(broken.ID, "none"), cmp.Or(broken.Time, "none"))
	case head != "" && !check.Known:
		return fmt.Errorf("the audit log of %q, %d events, does not lead to the head %s: the log was cut off or rewritten after that, "+
			"or the head is of another organisation; keep this file as evidence and compare it with a backup", org, check.Events, head)
	}
	return nil
}

// FormatSize formats a number of bytes.
func FormatSize(bytes int64) string {
	switch {
	case bytes < 10_000:
		return fmt.Sprintf("%d bytes", bytes)
	case bytes < 1_000_000:
		return fmt.Sprintf("%d kB", bytes/1000)
	case bytes < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
}

// FormatDuration leaves out units that are zero: 24h, not 24h0m0s.
func FormatDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// count formats a number of things, as in "2 events".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
