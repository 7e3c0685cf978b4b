package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"govsvc/db/sqlite"
)

// OpenToRead opens a file for the methods that look at it as a whole, and not
// for pages of lists, whose cursors need the file's secrets. It makes nothing,
// migrates nothing and writes nothing, so that the file may be of an older
// version, in use by others, or damaged.
func OpenToRead(ctx context.Context, path string) (*DB, error) {
	return openToRead(ctx, path, sqlite.QueryOnly)
}

func openToRead(ctx context.Context, path string, access sqlite.Access) (*DB, error) {
	at, err := sqlite.Resolve(path)
	if err != nil {
		return nil, err
	}
	d := closed(Options{Path: path})
	if err := d.openToRead(ctx, at, access); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), d.Close())
	}
	return d, nil
}

func (d *DB) openToRead(ctx context.Context, path string, access sqlite.Access) (err error) {
	d.engine, err = sqlite.OpenToRead(ctx, sqlite.Options{Path: path, ApplicationID: applicationID, Wait: d.options.Wait}, access)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file; give the data file with --db")
	case errors.Is(err, sqlite.ErrNotRegular):
		return fmt.Errorf("%w; give another path", err)
	case errors.Is(err, sqlite.ErrForeign) && access == sqlite.QueryOnly:
		return fmt.Errorf("%w; give another path with --db", errForeign)
	case errors.Is(err, sqlite.ErrForeign):
		return errForeign
	case err != nil && access == sqlite.QueryOnly:
		return denied(err)
	case err != nil:
		return err
	}
	err = d.Row(ctx, "SELECT 1 FROM sqlite_schema LIMIT 1").Scan(new(int))
	if errors.Is(err, sqlite.ErrNoRows) {
		return errors.New("holds no tables; of a data file in use, `govsvc backup` makes a copy with all that is in the log beside it")
	}
	return unreadable(err)
}

var errDamaged = errors.New("is damaged")

// untold tells whether err is of damage and does not say so itself.
func untold(err error) bool { return sqlite.IsCorrupt(err) && !errors.Is(err, errDamaged) }

// unreadable says what to do about a file that is too damaged for what was
// wanted, or not for this user, unless err says so already.
func unreadable(err error) error {
	switch {
	case barred(err):
		return toldBarred(err)
	case untold(err):
		return fmt.Errorf("%w: %w; keep it, and restore a sound backup (`govsvc restore --help`)", errDamaged, err)
	}
	return err
}

var errBarred = errors.New("this user may not use it")

// barred tells whether SQLite was let read the file alone, and err does not say
// so itself. One that was moved away is another matter.
func barred(err error) bool {
	return sqlite.IsDenied(err) && !errors.Is(err, errBarred)
}

// denied is an error of opening a data file.
func denied(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return toldBarred(err)
	}
	return err
}

// toldBarred says what to do where the system lets this user not use the file.
func toldBarred(err error) error {
	var known *Error
	if errors.As(err, &known) && known.Err != nil {
		err = known.Err // without "right now": it stays so
	}
	return fmt.Errorf("%w: %w; run as the user whose file it is, or let this one write the file and its folder", errBarred, err)
}

// Explain says which file is damaged or not for this user, and what to do, where
// err is of that and does not say so itself.
func (d *DB) Explain(err error) error {
	if !untold(err) && !barred(err) {
		return err
	}
	return fmt.Errorf("%s: %w", d.Path(), unreadable(err))
}

// examined is what was found in a sound file.
type examined struct {
	bytes   int64
	version int
	logs    []AuditLog
}

// examine reads all of a file that nobody writes and refuses it unless it is
// ours, of no newer version, whole, and its audit logs are sound and lead to the
// heads given.
func examine(ctx context.Context, path string, heads map[Org]string) (found examined, err error) {
	file, err := openBackup(ctx, path)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return file.examine(ctx, heads)
}

// openBackup opens a file that nobody is to write.
func openBackup(ctx context.Context, path string) (*DB, error) {
	path, err := sqlite.Resolve(path)
	if err != nil {
		return nil, err
	}
	access := sqlite.Immutable
	if _, err := os.Stat(path + "-wal"); err == nil {
		access = sqlite.ReadOnly // a part of it is in there, and somebody may write after all
	}
	return openToRead(ctx, path, access)
}

func (d *DB) examine(ctx context.Context, heads map[Org]string) (found examined, err error) {
	info, err := os.Stat(d.Path())
	if err != nil {
		return found, err
	}
	found.bytes = info.Size()
	faults, err := d.Faults(ctx, true)
	if err == nil && len(faults) > 0 {
		err = fmt.Errorf("it is damaged: %s", strings.Join(faults, "; "))
	}
	if err != nil {
		return found, err
	}
	var want int
	if found.version, want, err = d.Versions(ctx); err != nil {
		return found, err
	}
	if found.version > want {
		return found, newer(found.version, want)
	}
	orgs, err := d.Orgs.ListWithRemoved(ctx)
	if err != nil {
		return found, err
	}
	for _, org := range orgs {
		check, err := d.Audit.Check(ctx, org.Org, heads[org.Org])
		switch {
		case err != nil:
			return found, err
		case check.Broken != nil:
			return found, fmt.Errorf("the audit log of %q is broken at event %d", org.Name, check.Broken.Position)
		case heads[org.Org] != "" && !check.Known:
			return found, fmt.Errorf("the audit log of %q lacks what it held", org.Name)
		}
		found.logs = append(found.logs, AuditLog{org.Org, org.Name, check.Events, check.Head})
	}
	for org := range heads {
		if !slices.ContainsFunc(found.logs, func(l AuditLog) bool { return l.Org == org }) {
			return found, errors.New("an organisation is missing")
		}
	}
	return found, nil
}

// mostFaults bounds the faults of a file that are told.
const mostFaults = 20

// Faults are what SQLite finds wrong with the file's structure and references;
// none if it is sound. It takes time in proportion to the file; full compares
// each index with its table, too.
func (d *DB) Faults(ctx context.Context, full bool) ([]string, error) {
	pragma := "quick_check"
	if full {
		pragma = "integrity_check"
	}
	var faults []string
	add := func(row Scanner) error {
		var fault string
		err := row.Scan(&fault)
		if fault != "ok" && err == nil {
			faults = append(faults, fault)
		}
		return err
	}
	err := d.engine.Bulk.Each(ctx, add, fmt.Sprintf("PRAGMA %s(%d)", pragma, mostFaults))
	if err == nil && len(faults) == 0 {
		err = d.engine.Bulk.Each(ctx, add, `SELECT format('%d rows of %s refer to what is not there', count(*), "table") FROM pragma_foreign_key_check GROUP BY "table"`)
	}
	if sqlite.IsCorrupt(err) { // so much that it can't be listed
		return append(faults, err.Error()), nil
	}
	return faults, storeError(err)
}
