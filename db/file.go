package db

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"govsvc/db/sqlite"
)

// Types of the engine that the callers of the store use.
type (
	// Watch reports commits to the file by any process.
	Watch = sqlite.Watch
	// Reads records what reads depend on.
	Reads = sqlite.Reads
	// WriteStats describes the write transactions since the file was opened.
	WriteStats = sqlite.WriteStats
	// Histogram counts values by bounds.
	Histogram = sqlite.Histogram
)

// FileTime is the layout of an instant in the name of a file.
const FileTime = "20060102T150405Z"

// SQLiteVersion is the version of the SQLite library within, for example 3.53.4.
const SQLiteVersion = sqlite.LibraryVersion

// FreeSpace returns how many bytes can still be written to the disk that holds path.
func FreeSpace(path string) (int64, error) { return sqlite.FreeSpace(path) }

// Engine returns the engine under the store, for the packages under db. Other packages
// may not call it; the architecture test checks this. Writes go through Write.
func (d *DB) Engine() *sqlite.DB { return d.engine }

// File is the service for the data file: its size, its log and its state.
type File struct{ db *DB }

// Path returns the absolute path of the data file.
func (f File) Path() string { return f.db.engine.Path() }

// Freeze makes every later write leave the file unchanged. The caller of a write gets
// its usual result. The sandbox keeps its data set in this way.
func (f File) Freeze() { f.db.engine.Freeze() }

// Owns reports whether a file, by any of its names, is the data file or one of
// those that SQLite keeps beside it.
func (f File) Owns(file fs.FileInfo) bool { return f.db.engine.Owns(file) }

// LogSize returns the size in bytes of the write-ahead log beside the file.
func (f File) LogSize() int64 { return f.db.engine.LogSize() }

// Size returns the size of the file in bytes, without the log beside it.
func (f File) Size() int64 { return f.db.engine.Size() }

// Sizes returns the sizes in bytes of the file and of the log beside it.
func (f File) Sizes() (file, log int64, err error) { return f.db.engine.Sizes() }

// WriteStats returns the counts of write transactions up to now.
func (f File) WriteStats() WriteStats { return f.db.engine.WriteStats() }

// Checkpoint empties the log beside the file, as far as readers and other writers
// allow it.
func (f File) Checkpoint(ctx context.Context) error { return StoreError(f.db.engine.Checkpoint(ctx)) }

// ReleaseFreeSpace makes the file smaller by removing free pages, and returns by how many
// bytes.
func (f File) ReleaseFreeSpace(ctx context.Context) (bytes int64, err error) {
	bytes, err = f.db.engine.ReleaseFreeSpace(ctx)
	return bytes, StoreError(err)
}

// DataVersion returns a number that grows with every commit to the file, by this
// process or another. What was read while it had a value is valid as long as it
// has that value. It is 0 if the state of the file is not known now. It takes some
// nanoseconds.
func (f File) DataVersion() (int64, error) {
	n, err := f.db.engine.DataVersion()
	return n, StoreError(err)
}

// Record returns a context whose reads are recorded, and the record. The data version
// must have been asked for before.
func (f File) Record(ctx context.Context, dataVersion int64) (context.Context, *Reads) {
	return f.db.engine.Record(ctx, dataVersion)
}

// Watch starts to watch the file for commits of any process.
func (f File) Watch() (*Watch, error) {
	w, err := f.db.engine.Watch()
	return w, StoreError(err)
}

// probe remembers the last readiness probe that wrote to the disk.
type probe struct {
	mutex  sync.Mutex
	at     time.Time // zero: there was none, or the last one failed
	failed uint64    // failed transactions at that time
}

// probeInterval is how long Ready trusts a probe that wrote. Such a probe waits for the
// disk, and probes come every few seconds.
const probeInterval = 30 * time.Second

// Ready reports whether the file can be read and written now. It waits for either no
// longer than a write does. It takes the write lock each time. It writes to the disk
// if the last such probe is 30 seconds old, or if a write has failed since.
func (f File) Ready(ctx context.Context) error {
	var one int
	read, cancel := context.WithTimeout(ctx, f.db.options.Wait)
	defer cancel()
	if err := f.db.Row(read, "SELECT 1").Scan(&one); err != nil {
		return StoreError(err)
	}
	p := &f.db.probe
	p.mutex.Lock()
	defer p.mutex.Unlock()
	failed, age := f.WriteStats().Failed, f.db.now().Sub(p.at)
	trusted := failed == p.failed && age >= 0 && age < probeInterval
	err := f.db.Maintain(ctx, func(tx *Tx) error {
		if trusted {
			return nil
		}
		// An update that changes nothing would write no page, and would not detect a
		// full disk.
		if _, err := tx.Exec("INSERT INTO limiter_counts (subject, slot, requests) VALUES ('ready', 0, 0)"); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM limiter_counts WHERE subject = 'ready'")
		return err
	})
	switch {
	case err != nil:
		p.at = time.Time{}
	case !trusted:
		p.at, p.failed = f.db.now(), failed
	}
	return err
}
