// Package db is the store: one SQLite file, opened once for writing and in a
// small pool for reading. All SQL of the program lives here and in package
// migrations. Every change goes through one door (see Write), which stores
// with it its audit event, its outbox events and its idempotent answer, or
// nothing at all.
package db

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"govsvc/db/sqlite"
)

// applicationID marks the file as ours ("gvsv"), so that another program's
// SQLite file is refused and not migrated.
const applicationID = 0x67767376

// Options says which file to open, and how.
type Options struct {
	// Path of the data file.
	Path string
	// MustExist refuses to make a new file.
	MustExist bool
	// Wait bounds how long a write waits for its turn, be it behind other
	// writers of this process or behind another process; past it the write
	// fails with Unavailable. 0 is five seconds.
	Wait time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// NewID makes the ids of new rows; nil makes UUIDv7 from Now.
	NewID func() string
	// Random is where secrets come from; nil is crypto/rand.
	Random io.Reader

	// SearchTime bounds a search, its waiting included; past it the search fails
	// with SearchTimeout. 0 is ten seconds.
	SearchTime time.Duration
	// IsCopy says that the file is a copy, so that it is not copied again before a
	// migration.
	IsCopy bool
}

// DB is an open data file. Its methods may be called from many goroutines.
type DB struct {
	// Services for records that the program keeps about itself.

	Keys        Keys
	Usage       Usage
	Orgs        Orgs
	Audit       Audit
	Evidence    Evidence
	Idempotency Idempotency

	options Options
	engine  *sqlite.DB
	now     func() time.Time
	newID   func() string

	searches searches

	// expandedOrg is the organisation whose events were expanded last. The writer
	// guards it, as it guards the statements below.
	expandedOrg int64
	columnSets  map[columnSetKey]*columnSet // see put.go
	finders     map[*storedResource]string  // see amend.go

	queued queued

	// columns of each table that can be written, by name; see put.go
	columns map[string][]string
	// defaults are what the tables give columns that an insert leaves out, as
	// members of records; see amend.go
	defaults map[string]map[string]any
	secrets  secrets

	proof proof // that the file takes what is written
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
		return nil, errors.Join(fmt.Errorf("%s: %w", options.Path, unreadable(err)), d.Close())
	}
	return d, nil
}

// closed is the store of a file that is yet to be opened.
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
	d.queued = make(queued, 1)
	d.Keys, d.Usage, d.Orgs, d.Audit, d.Evidence, d.Idempotency = newKeys(d), Usage{d}, Orgs{d}, Audit{d}, Evidence{d}, Idempotency{d, new(responseCache)}
	if d.options.Random == nil {
		d.options.Random = rand.Reader
	}
	d.columnSets, d.finders = map[columnSetKey]*columnSet{}, map[*storedResource]string{}
	return d
}

func (d *DB) open(ctx context.Context, path string) (err error) {
	var migration error
	d.engine, err = sqlite.Open(ctx, sqlite.Options{
		Path: path, ApplicationID: applicationID, MustExist: d.options.MustExist, Wait: d.options.Wait, Now: d.Now,
		Prepare: func(ctx context.Context, file *sqlite.DB) error {
			migration = d.migrate(ctx, file)
			return migration
		},
	})
	switch {
	case errors.Is(err, sqlite.ErrForeign):
		return fmt.Errorf("%w; give another path with --db", errForeign)
	case errors.Is(err, sqlite.ErrNotRegular):
		return fmt.Errorf("%w; give another path with --db", err)
	case d.options.MustExist && errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file; give the data file with --db, or make one with `govsvc serve`")
	case migration != nil:
		return err
	case err != nil:
		return denied(storeError(err))
	}
	if d.columns, d.defaults, err = d.tableColumns(ctx); err != nil {
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

// Wait is how long a write waits for other writers; see Options.
func (d *DB) Wait() time.Duration { return d.options.Wait }

// Now is the time by the store's clock, in UTC.
func (d *DB) Now() time.Time { return d.now().UTC() }

// RandomBytes returns n bytes for a secret, from Options.Random.
func (d *DB) RandomBytes(n int) ([]byte, error) {
	secret := make([]byte, n)
	_, err := io.ReadFull(d.options.Random, secret)
	return secret, err
}
