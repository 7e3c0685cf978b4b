// Package sqlite is the engine under package db: one SQLite file, with one
// writer and pools of connections for reading. It does not depend on any table.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Sizes of the read pools. For frequent reads one connection is too few, and more than
// four gained nothing when measured.
const (
	lookupsAtOnce  = 4
	searchesAtOnce = 2
	bulkAtOnce     = 2
)

// Options says which file to open, and how.
type Options struct {
	// Path of the file; see Resolve.
	Path string
	// ApplicationID marks the program's files, so that a file of another program
	// is refused with ErrForeign.
	ApplicationID uint32
	// MustExist refuses to create a file.
	MustExist bool
	// OwnerColumn is the column with the owner of a row, in tables that have it; see Owner.
	OwnerColumn string
	// Wait bounds how long a statement or a write waits for a lock.
	Wait time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Prepare makes an open file fit for use: it creates or migrates tables. It
	// may run more than once. A new file gets its name after Prepare.
	Prepare func(context.Context, *DB) error
}

// Access says what a DB may do with its file.
type Access int

const (
	// ReadWrite is the access of Open.
	ReadWrite Access = iota
	// QueryOnly reads a file that is in use. The last connection that closes it
	// removes the files beside it.
	QueryOnly
	// ReadOnly reads a file and leaves the files beside it as they are.
	ReadOnly
	// Immutable reads a file that no process writes. SQLite needs no files beside it.
	Immutable
)

// DB is an open file. Its methods may be called from many goroutines.
type DB struct {
	// Frequent runs the few statements of bounded time that run all the time. A
	// connection with many cached statements ran such a statement 12 % slower when
	// measured, probably because no lookaside memory was left. A read that has begun is
	// not interrupted.
	Frequent *Pool
	// Lookups runs other reads whose time is bounded. They are not interrupted either.
	Lookups *Pool
	// Searches runs reads whose time grows with the data.
	Searches *Pool
	// Bulk runs reads of whole tables.
	Bulk *Pool

	options  Options
	access   Access
	writer   writer
	versions versions
	frozen   atomic.Bool
}

// Open opens a file. It creates the file where there is none. The file and the
// files that SQLite keeps beside it can be read and written by their owner only.
func Open(ctx context.Context, options Options) (*DB, error) {
	for retries := len(suffixes); ; retries-- {
		err := create(ctx, options)
		if err == nil {
			var d *DB
			if d, err = open(ctx, options); err == nil {
				return d, nil
			}
		}
		if !isDeleteRace(err) || retries == 0 {
			return nil, err
		}
	}
}

// OpenToRead opens a file for reading. It creates, migrates and writes nothing.
func OpenToRead(ctx context.Context, options Options, access Access) (*DB, error) {
	info, err := os.Stat(options.Path)
	if err != nil {
		return nil, err
	}
	if err := RequireRegular(info); err != nil {
		return nil, err
	}
	if err := identify(ctx, options); err != nil {
		return nil, err
	}
	d := closed(options)
	d.access = access
	mode := "ro"
	if access == QueryOnly {
		mode = "rw" // see pragmas
	}
	d.Lookups = newPool(d, mode, lookupsAtOnce, true)
	d.Frequent, d.Searches, d.Bulk = d.Lookups, d.Lookups, d.Lookups
	return d, nil
}

func closed(options Options) *DB {
	if options.Now == nil {
		options.Now = time.Now
	}
	d := &DB{options: options}
	d.versions.db, d.versions.footprints.db = d, d
	return d
}

func open(ctx context.Context, options Options) (*DB, error) {
	d := closed(options)
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *DB) open(ctx context.Context) error {
	path := d.options.Path
	before, err := os.Stat(path)
	if err != nil {
		return err
	}
	if before.Size() > 0 {
		if err := identify(ctx, d.options); err != nil {
			return err
		}
	}
	if err := d.writer.open(ctx, d); err != nil {
		return err
	}
	// From here on no other process can replace the file: see Lock.
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		return errors.Join(ErrReplaced, err)
	}
	d.Frequent = newPool(d, "ro", lookupsAtOnce, false)
	d.Lookups = newPool(d, "ro", lookupsAtOnce, false)
	d.Searches = newPool(d, "ro", searchesAtOnce, true)
	d.Bulk = newPool(d, "ro", bulkAtOnce, true)
	if d.options.Prepare != nil {
		if err := d.options.Prepare(ctx, d); err != nil {
			return err
		}
	}
	// Partial files of creations and of copies before a migration.
	RemoveStalePartials(filepath.Dir(path), "."+filepath.Base(path)+".")
	return nil
}

// create creates the file if it does not exist. The file gets its name when it
// is complete. If several processes create it at once, the first one gives it
// the name, and all of them open that file.
func create(ctx context.Context, options Options) error {
	info, err := os.Stat(options.Path)
	switch {
	case err == nil:
		return RequireRegular(info)
	case !errors.Is(err, fs.ErrNotExist) || options.MustExist:
		return err
	}
	if hasLeftovers(options.Path) {
		return createEmpty(options.Path)
	}
	err = WithPartial(options.Path, func(partial string) error {
		made := options
		made.Path = partial
		file, err := open(ctx, made)
		if err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
		return Publish(partial, options.Path, false)
	})
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// hasLeftovers reports whether the write-ahead log or the journal of a removed
// file is beside the path. SQLite would apply it to the new file.
func hasLeftovers(path string) bool {
	for _, suffix := range []string{"-wal", "-journal"} {
		if _, err := os.Lstat(path + suffix); err == nil {
			return true
		}
	}
	return false
}

// createEmpty creates an empty file under its own name. Beside an empty file
// SQLite removes the leftovers of another one, while it holds the lock.
func createEmpty(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist): // another process was faster
		return nil
	case err != nil:
		return err
	}
	return file.Close()
}

// uri returns SQLite's name for the file. SQLite reads the mode of a file: URL only.
func (d *DB) uri(mode string) string { return fileURI(d.options.Path, mode, d.access == Immutable) }

func fileURI(path, mode string, immutable bool) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	query := url.Values{"mode": {mode}}
	if immutable {
		query.Set("immutable", "1")
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// pragmas returns what a connection sets first.
func (d *DB) pragmas(mode string) []string {
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", d.options.Wait.Milliseconds()),
		"foreign_keys(1)",
		"trusted_schema(0)",
		// a transaction is on disk before its commit returns
		"synchronous(FULL)",
	}
	if mode == "ro" {
		// 512 KB hold the upper pages of the indexes. The system's cache returns
		// other pages as fast, and each page that SQLite caches takes 8 KB here.
		pragmas = append(pragmas, "cache_size(-512)")
	}
	if d.access == QueryOnly {
		// The last connection to close a file removes the files beside it, if it
		// may write. That is why the mode of these connections is rw.
		pragmas = append(pragmas, "query_only(1)")
	}
	return pragmas
}

// dsn returns the name of the file for the driver of database/sql, with the pragmas.
func (d *DB) dsn(mode string) string {
	return d.uri(mode) + "&" + url.Values{"_pragma": d.pragmas(mode)}.Encode()
}

// Close waits for the reads and the write transaction under way, and closes the
// file. Later calls fail with ErrClosed. A write request must not call Close.
func (d *DB) Close() error {
	d.versions.close()
	var err error
	for _, pool := range []*Pool{d.Frequent, d.Lookups, d.Searches, d.Bulk} {
		if pool != nil {
			err = errors.Join(err, pool.close())
		}
	}
	return errors.Join(err, d.writer.close())
}

// Path returns the path of the file.
func (d *DB) Path() string { return d.options.Path }

// Freeze makes every later write transaction roll back instead of commit. Its
// callers get the results that they would get otherwise.
func (d *DB) Freeze() { d.frozen.Store(true) }

// Frozen reports whether Freeze was called.
func (d *DB) Frozen() bool { return d.frozen.Load() }
