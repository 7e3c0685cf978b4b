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
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver, cgo-free
)

// applicationID marks the file as ours ("gvsv"), so that another program's
// SQLite file is refused and not migrated.
const applicationID = 0x67767376

// readersAtOnce is the size of each read pool: one is too few, and more than four
// gained nothing when measured.
const readersAtOnce = 4

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

	// RestoredBy names the actor in the events of a restore; see Restore.
	RestoredBy Actor
	// SearchTime bounds a search, its waiting included; past it the search fails
	// with SearchTimeout. 0 is ten seconds.
	SearchTime time.Duration

	// copied: the file is a copy already, and needs none before it is migrated
	copied bool
}

// DB is an open data file. Its methods may be called from many goroutines.
type DB struct {
	options Options
	path    string
	mode    int // working, unless the file was opened to be read
	now     func() time.Time
	newID   func() string

	read     *ReadPool // lookups of bounded time
	searches searches
	bulk     *ReadPool // reads of all records

	fast   readers
	writer writer
	// expandedOrg is the organisation whose events were expanded last. The writer
	// guards it.
	expandedOrg int64
	queued      queued
	dataVersion dataVersion
	frozen      atomic.Bool
	memory      answers // of a frozen file

	// columns of each table that can be written, by name; see put.go
	columns map[string][]string
	// defaults are what the tables give columns that an insert leaves out, as
	// members of records; see amend.go
	defaults map[string]map[string]any
	secrets  secrets

	hashing hashing
	tries   throttle // of signing in
	seen    seen     // sessions whose last request is not stored yet
	proof   proof    // that the file takes what is written
}

// Open opens the file, making or migrating it first where needed. The file and
// what SQLite keeps beside it are readable by their owner alone.
func Open(ctx context.Context, options Options) (*DB, error) {
	path, err := located(options.Path)
	if err != nil {
		return nil, err
	}
	for left := len(besides); ; left-- {
		d := closed(path, options)
		if err = d.create(ctx); err == nil {
			err = d.open(ctx)
		}
		if err == nil {
			return d, nil
		}
		err = errors.Join(fmt.Errorf("%s: %w", options.Path, unreadable(err)), d.Close())
		if !removedBefore(err) || left == 0 {
			return nil, err
		}
	}
}

// closed is the store of a file that is yet to be opened.
func closed(path string, options Options) *DB {
	d := &DB{options: options, path: path, now: options.Now, newID: options.NewID}
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
	d.hashing = newHashing()
	if d.options.Random == nil {
		d.options.Random = rand.Reader
	}
	return d
}

func (d *DB) open(ctx context.Context) error {
	before, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	if before.Size() > 0 {
		if err := identify(ctx, d.path); errors.Is(err, errForeign) {
			return fmt.Errorf("%w; give another path with --db", err)
		} else if err != nil {
			return denied(err)
		}
	}
	if err := d.writer.open(ctx, d); err != nil {
		return err
	}
	// From here on nobody can take the file away: see Restore.
	if after, err := os.Stat(d.path); err != nil || !os.SameFile(before, after) {
		return errors.Join(errors.New("was replaced while it was being opened; start again"), err)
	}
	if err := d.openPools(); err != nil {
		return err
	}
	if err := d.migrate(ctx); err != nil {
		return err
	}
	sweepPartials(filepath.Dir(d.path), "."+filepath.Base(d.path)+".") // of new files, and of copies before a migration
	d.fast.init(d)
	if d.columns, d.defaults, err = d.tableColumns(ctx); err != nil {
		return err
	}
	d.secrets, err = d.fileSecrets(ctx)
	return err
}

// ordinary refuses what no data file can be: what would be waited for, as a
// pipe, or can't be kept.
func ordinary(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("is a folder, not a data file")
	case !info.Mode().IsRegular():
		return errors.New("is no ordinary file")
	}
	return nil
}

// located is the absolute path of a file or, if that is a symbolic link, of what
// it leads to: SQLite keeps its log beside that, and a restore must replace it.
func located(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Lstat(absolute); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return absolute, nil //nolint:nilerr // who opens it will see
	}
	target, err := filepath.EvalSymlinks(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: is a link to what is not there; mend it, or give another path", path)
	}
	return target, err
}

// create makes the file if it is not there yet. It gets its name when it is
// complete: of several processes that make it at once the first gives it the
// name, and all of them open that one.
func (d *DB) create(ctx context.Context) error {
	info, err := os.Stat(d.path)
	switch {
	case err == nil:
		if err := ordinary(info); err != nil {
			return fmt.Errorf("%w; give another path with --db", err)
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case d.options.MustExist:
		return errors.New("no such file; give the data file with --db, or make one with `govsvc serve`")
	}
	if leftBeside(d.path) {
		return d.createEmpty()
	}
	err = viaPartial(d.path, func(partial string) error {
		made := closed(partial, d.options)
		if err := errors.Join(made.open(ctx), made.Close()); err != nil {
			return err
		}
		return name(partial, d.path, false)
	})
	if errors.Is(err, errTaken) {
		return nil
	}
	return err
}

// leftBeside tells whether the log or the journal of a file that is gone stands
// where the new file's will be. SQLite would play it back into the new one.
func leftBeside(path string) bool {
	for _, end := range []string{"-wal", "-journal"} {
		if _, err := os.Lstat(path + end); err == nil {
			return true
		}
	}
	return false
}

// createEmpty makes a file that is filled in its place: beside an empty one
// SQLite removes what is left of another, while nobody else can use it.
func (d *DB) createEmpty() error {
	file, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist): // somebody else was sooner
		return nil
	case err != nil:
		return err
	}
	return file.Close()
}

// dsn is the driver's name for the file. Only a file: URL makes mode=ro count.
func (d *DB) dsn(mode string) string {
	path := filepath.ToSlash(d.path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	query := url.Values{"mode": {mode}}
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", d.options.Wait.Milliseconds()),
		"foreign_keys(1)",
		"trusted_schema(0)",
		// 1: a transaction is on disk before its writer is told so
		"synchronous(FULL)",
	}
	if mode == "ro" {
		// 512 KB a connection hold the upper pages of the indexes; the others come
		// from the system's memory as fast, and each cached page takes 8 KB of ours
		pragmas = append(pragmas, "cache_size(-512)")
	}
	switch d.mode {
	case looking:
		// The last to close a file removes what SQLite keeps beside it, if it may
		// write. That is why who looks opens it so.
		pragmas = append(pragmas, "query_only(1)")
	case resting:
		query.Set("immutable", "1")
	}
	query["_pragma"] = pragmas
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// Close waits for the pages and the change under way and closes the file, so
// that no change may call it. What comes later is refused.
func (d *DB) Close() error {
	d.dataVersion.close()
	d.seen.close()
	err := d.fast.close()
	for _, pool := range []*ReadPool{d.read, d.searches.pool, d.bulk} {
		if pool != nil {
			err = errors.Join(err, pool.Close())
		}
	}
	return errors.Join(err, d.writer.close())
}

// Path is the absolute path of the data file.
func (d *DB) Path() string { return d.path }

// Now is the time by the store's clock, in UTC.
func (d *DB) Now() time.Time { return d.now().UTC() }

// Freeze makes every later write leave the file as it was, once its answer has
// been computed: how the sandbox keeps its data set.
func (d *DB) Freeze() { d.frozen.Store(true) }

// random is n bytes for a secret.
func (d *DB) random(n int) ([]byte, error) {
	secret := make([]byte, n)
	_, err := io.ReadFull(d.options.Random, secret)
	return secret, err
}
