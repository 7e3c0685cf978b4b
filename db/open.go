package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

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

// ErrDamaged is part of the errors that say what to do about a damaged file.
var ErrDamaged = errors.New("is damaged")

// untold tells whether err is of damage and does not say so itself.
func untold(err error) bool { return sqlite.IsCorrupt(err) && !errors.Is(err, ErrDamaged) }

// unreadable says what to do about a file that is too damaged for what was
// wanted, or not for this user, unless err says so already.
func unreadable(err error) error {
	switch {
	case barred(err):
		return toldBarred(err)
	case untold(err):
		return fmt.Errorf("%w: %w; keep it, and restore a sound backup (`govsvc restore --help`)", ErrDamaged, err)
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
