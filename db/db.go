// Package db is the store of records in one SQLite file. Every change goes through
// DB.Write. Its audit event, its outbox events and its idempotent response commit with
// it, or nothing does.
package db

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"govsvc/db/fair"
	"govsvc/db/search"
	"govsvc/db/sqlite"
)

// applicationID marks the program's files ("gvsv"), so that an SQLite file of another
// program is refused.
const applicationID = 0x67767376

// Options says which file to open, and how.
type Options struct {
	// Path of the data file.
	Path string
	// MustExist refuses to create a file.
	MustExist bool
	// Wait bounds how long a write waits for other writes of this process or of
	// another one. After that the write fails with Unavailable. 0 is five seconds.
	Wait time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// NewID makes the ids of new rows; nil makes UUIDv7 from Now. An import calls it from
	// two goroutines.
	NewID func() string
	// Random is the source of secrets; nil is crypto/rand.
	Random io.Reader

	// SearchTime bounds a search, with its wait. After that the search fails with
	// SearchTimeout. 0 is ten seconds.
	SearchTime time.Duration
	// IsCopy says that the file is a copy, so that it is not copied again before a
	// migration.
	IsCopy bool
}

// DB is an open data file. Its methods may be called from many goroutines.
type DB struct {
	// File is the service for the data file. The others are for records that the program
	// keeps about itself.

	File        File
	Keys        Keys
	Usage       Usage
	Orgs        Orgs
	Audit       Audit
	Evidence    Evidence
	Idempotency Idempotency
	Cursors     Cursors
	SearchIndex search.Index

	options Options
	engine  *sqlite.DB
	now     func() time.Time
	newID   func() string

	searches *fair.PerUser

	// The writer guards these statements.
	columnSets map[columnSetKey]*columnSet  // see row.go
	finders    map[*storedResource]*finders // see row.go

	due chan struct{} // see WakeDeliveries

	// columns are those of each table that can be written; see values.go.
	columns map[string][]string
	// defaults are the values, as members of records, of columns that an insert leaves
	// out; see values.go.
	defaults map[string]map[string]any
	secrets  secrets

	probe probe // see Ready
}

// Open opens the file. It creates or migrates the file first where needed. The
// file and the files that SQLite keeps beside it can be used by their owner only.
func Open(ctx context.Context, options Options) (*DB, error) {
	path, err := sqlite.Resolve(options.Path)
	if err != nil {
		return nil, err
	}
	d := closed(options)
	if err := d.open(ctx, path); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", options.Path, withAdvice(err)), d.Close())
	}
	return d, nil
}

// closed returns a store whose file is not open yet.
func closed(options Options) *DB {
	d := &DB{options: options, now: options.Now, newID: options.NewID}
	if d.options.Wait == 0 {
		d.options.Wait = 5 * time.Second
	}
	if d.options.SearchTime == 0 {
		d.options.SearchTime = searchTime
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.newID == nil {
		d.newID = idSource(d.now)
	}
	d.due, d.searches = make(chan struct{}, 1), fair.NewPerUser(maxWaitingSearches)
	d.Keys, d.Usage, d.Orgs, d.Audit, d.Evidence, d.Idempotency = newKeys(d), Usage{d}, Orgs{d}, Audit{d}, Evidence{d}, Idempotency{d, new(responseCache)}
	d.Cursors, d.File = Cursors{d}, File{d}
	if d.options.Random == nil {
		d.options.Random = rand.Reader
	}
	d.columnSets, d.finders = map[columnSetKey]*columnSet{}, map[*storedResource]*finders{}
	return d
}

func (d *DB) open(ctx context.Context, path string) (err error) {
	var migrated error
	d.engine, err = sqlite.Open(ctx, sqlite.Options{
		Path: path, ApplicationID: applicationID, OwnerColumn: "org_id", MustExist: d.options.MustExist, Wait: d.options.Wait, Now: d.Now,
		Prepare: func(ctx context.Context, file *sqlite.DB) error {
			migrated = migration{d, file}.run(ctx)
			return migrated
		},
	})
	switch {
	case errors.Is(err, sqlite.ErrForeign):
		return fmt.Errorf("%w; give another path with --db", errForeign)
	case errors.Is(err, sqlite.ErrNotRegular):
		return fmt.Errorf("%w; give another path with --db", err)
	case d.options.MustExist && errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file; give the data file with --db, or create one with `govsvc serve`")
	case migrated != nil:
		return err
	case err != nil:
		return explainPermission(StoreError(err))
	}
	d.SearchIndex = search.NewIndex(d.engine)
	if d.columns, d.defaults, err = tableColumns(ctx, d); err != nil {
		return err
	}
	d.secrets, err = d.fileSecrets(ctx)
	return err
}

// Close waits for the reads and the change under way and closes the file. A
// change must not call it. Later calls are refused.
func (d *DB) Close() error {
	if d.engine == nil {
		return nil
	}
	return d.engine.Close()
}

// Wait returns how long a write waits for other writers; see Options.
func (d *DB) Wait() time.Duration { return d.options.Wait }

// Now returns the time by the store's clock, in UTC.
func (d *DB) Now() time.Time { return d.now().UTC() }

// NewID makes the id of a new row.
func (d *DB) NewID() string { return d.newID() }

// RandomBytes returns n bytes for a secret, from Options.Random.
func (d *DB) RandomBytes(n int) ([]byte, error) {
	secret := make([]byte, n)
	_, err := io.ReadFull(d.options.Random, secret)
	return secret, err
}

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
