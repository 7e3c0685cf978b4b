package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"govsvc/db/search"
	"govsvc/db/sqlite"
)

// OpenToRead opens a file for methods that read it as a whole, and not for pages of
// lists, whose cursors need the file's secrets. It creates, migrates and writes
// nothing. The file may have an older version, be in use, or be damaged.
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
		return explainPermission(err)
	case err != nil:
		return err
	}
	d.SearchIndex = search.NewIndex(d.engine)
	err = d.Row(ctx, "SELECT 1 FROM sqlite_schema LIMIT 1").Scan(new(int))
	if errors.Is(err, sqlite.ErrNoRows) {
		return errors.New("has no tables; copy a data file in use with `govsvc backup`, which includes the write-ahead log beside it")
	}
	return withAdvice(err)
}

// ErrDamaged is part of the errors that say what to do about a damaged file.
var ErrDamaged = errors.New("is damaged")

// isUnexplainedDamage reports whether err is of a damaged file and has no advice yet.
func isUnexplainedDamage(err error) bool { return sqlite.IsCorrupt(err) && !errors.Is(err, ErrDamaged) }

var errForeign = errors.New("is not a govsvc data file")

// withAdvice says what to do about a damaged file, or one that this user is not allowed
// to use, unless err says so already.
func withAdvice(err error) error {
	switch {
	case isUnexplainedDenial(err):
		return explainDenial(err)
	case isUnexplainedDamage(err):
		return fmt.Errorf("%w: %w; keep it, and restore a sound backup (`govsvc restore --help`)", ErrDamaged, err)
	}
	return err
}

var errDenied = errors.New("this user is not allowed to use it")

// isUnexplainedDenial reports whether SQLite could only read the file, and err has no
// advice yet.
func isUnexplainedDenial(err error) bool {
	return sqlite.IsDenied(err) && !errors.Is(err, errDenied)
}

// explainPermission is explainDenial for errors of the system.
func explainPermission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return explainDenial(err)
	}
	return err
}

// explainDenial says what to do if the system does not allow this user to use the file.
func explainDenial(err error) error {
	var known *Error
	if errors.As(err, &known) && known.Err != nil {
		err = known.Err // without "right now", because the denial stays
	}
	return fmt.Errorf("%w: %w; run as the owner of the file, or let this user write the file and its folder", errDenied, err)
}

// Explain adds the path and what to do to an error of a damaged file. It does the same
// if this user is not allowed to use the file.
func (f File) Explain(err error) error {
	if !isUnexplainedDamage(err) && !isUnexplainedDenial(err) {
		return err
	}
	return fmt.Errorf("%s: %w", f.Path(), withAdvice(err))
}

// OpenCopy opens a file that no process is to write, such as a backup, as OpenToRead
// does. It changes nothing beside the file.
func OpenCopy(ctx context.Context, path string) (*DB, error) {
	path, err := sqlite.Resolve(path)
	if err != nil {
		return nil, err
	}
	access := sqlite.Immutable
	if _, err := os.Stat(path + "-wal"); err == nil {
		access = sqlite.ReadOnly // the log has a part of it, and a process may write it after all
	}
	return openToRead(ctx, path, access)
}

// IsForeign reports whether a file is an SQLite file of another program.
func IsForeign(path string) bool { return sqlite.IsForeign(path, applicationID) }
