package db

import (
	"context"
	"io/fs"

	"govsvc/db/sqlite"
)

// Types of the engine that the callers of the store use.
type (
	// Scanner is one row of a result, or the error that came instead of it.
	Scanner = sqlite.Scanner
	// Watch reports commits to the file by any process.
	Watch = sqlite.Watch
	// WriteStats describes the write transactions since the file was opened.
	WriteStats = sqlite.WriteStats
	// Histogram counts values by bounds.
	Histogram = sqlite.Histogram
)

// FileTime is the layout of an instant in the name of a file.
const FileTime = "20060102T150405Z"

// SQLiteVersion is the version of the SQLite library within, for example 3.53.4.
const SQLiteVersion = sqlite.LibraryVersion

// FreeSpace is how many bytes can still be written to the disk that holds path.
func FreeSpace(path string) (int64, error) { return sqlite.FreeSpace(path) }

// Row reads one row in the pool of bounded lookups. Its Scan returns
// sqlite.ErrNoRows if there is none.
func (d *DB) Row(ctx context.Context, query string, args ...any) Scanner {
	return d.engine.Lookups.Row(ctx, query, args...)
}

// Each calls fn for each row that the query gives in the pool of bounded lookups;
// see sqlite.Pool.Each.
func (d *DB) Each(ctx context.Context, fn func(Scanner) error, query string, args ...any) error {
	return storeError(d.engine.Lookups.Each(ctx, fn, query, args...))
}

// Write runs a change in the write transaction. What run does is stored whole
// or, if it or the store fails, not at all; on nil it is on disk. A change that
// writes without an audit event is refused. Unavailable means that nothing was
// done and that the call may be repeated.
func (d *DB) Write(ctx context.Context, by Actor, run func(*Tx) error) error {
	return d.write(ctx, by, run, true)
}

// Maintain runs a change that no caller of the service asked for. It needs no audit
// event.
func (d *DB) Maintain(ctx context.Context, run func(*Tx) error) error {
	return d.write(ctx, Actor{}, run, false)
}

func (d *DB) write(ctx context.Context, by Actor, run func(*Tx) error, audited bool) error {
	err := d.engine.Write(ctx, func(of *sqlite.Tx) error { return d.newTx(of, by).run(run, audited) })
	if sqlite.IsTransient(err) {
		return storeError(err)
	}
	return err
}

// Engine is the engine under the store, for the packages under db. What they write
// goes through Write.
func (d *DB) Engine() *sqlite.DB { return d.engine }

// Path is the absolute path of the data file.
func (d *DB) Path() string { return d.engine.Path() }

// Freeze makes every later write leave the file as it was, once its answer has
// been computed: how the sandbox keeps its data set.
func (d *DB) Freeze() { d.engine.Freeze() }

// Owns reports whether a file, by any of its names, is the data file or one of
// those that SQLite keeps beside it.
func (d *DB) Owns(file fs.FileInfo) bool { return d.engine.Owns(file) }

// LogSize is the size in bytes of the write-ahead log beside the file.
func (d *DB) LogSize() int64 { return d.engine.LogSize() }

// Size is the size of the file in bytes, without the log beside it.
func (d *DB) Size() int64 { return d.engine.Size() }

// Sizes returns the sizes in bytes of the file and of the log beside it.
func (d *DB) Sizes() (file, log int64, err error) { return d.engine.Sizes() }

// WriteStats returns the counts of write transactions up to now.
func (d *DB) WriteStats() WriteStats { return d.engine.WriteStats() }

// Checkpoint empties the log beside the file, as far as readers and other writers
// allow it.
func (d *DB) Checkpoint(ctx context.Context) error { return storeError(d.engine.Checkpoint(ctx)) }

// GiveBack returns free space within the file to the disk, and how many bytes.
func (d *DB) GiveBack(ctx context.Context) (bytes int64, err error) {
	bytes, err = d.engine.GiveBack(ctx)
	return bytes, storeError(err)
}

// DataVersion is a number that grows with every commit to the file, by this
// process or another. What was read while it had a value is valid as long as it
// has that value. It takes a few microseconds.
func (d *DB) DataVersion(ctx context.Context) (int64, error) {
	n, err := d.engine.DataVersion(ctx)
	return n, storeError(err)
}

// Watch starts to watch the file for commits of any process.
func (d *DB) Watch(ctx context.Context) (*Watch, error) {
	w, err := d.engine.Watch(ctx)
	return w, storeError(err)
}
