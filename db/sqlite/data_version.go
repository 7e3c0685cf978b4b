package sqlite

import (
	"context"
	"sync"
)

// Watch reports commits to the file by any process. One goroutine uses it at a
// time.
type Watch struct {
	conn    *conn // SQLite counts commits for each connection
	version int64
}

// Watch starts to watch the file.
func (d *DB) Watch(ctx context.Context) (*Watch, error) {
	c, err := d.connect(ctx, "ro")
	if err != nil {
		return nil, err
	}
	w := &Watch{conn: c}
	if _, err := w.Changed(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Changed reports whether a transaction was committed since the last call. It
// takes a few microseconds.
func (w *Watch) Changed() (bool, error) {
	before := w.version
	err := w.conn.Row("PRAGMA data_version").Scan(&w.version)
	return w.version != before, err
}

// Close ends the watch.
func (w *Watch) Close() {
	_ = w.conn.close() // it held no lock and had nothing to write
}

// dataVersion counts the commits that DataVersion has seen.
type dataVersion struct {
	mutex  sync.Mutex
	closed bool
	watch  *Watch
	count  int64
}

// DataVersion returns a number that grows when this process or another one commits to
// the file. What was read while it had a value is valid as long as it has that value.
// It takes a few microseconds.
func (d *DB) DataVersion(ctx context.Context) (int64, error) {
	v := &d.dataVersion
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.closed {
		return 0, ErrClosed
	}
	if v.watch == nil {
		var err error
		if v.watch, err = d.Watch(context.WithoutCancel(ctx)); err != nil {
			return 0, err
		}
		v.count++
	}
	changed, err := v.watch.Changed()
	if err != nil {
		v.watch.Close()
		v.watch = nil
		return 0, err
	}
	if changed {
		v.count++
	}
	return v.count, nil
}

func (v *dataVersion) close() {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.closed = true
	if v.watch != nil {
		v.watch.Close()
		v.watch = nil
	}
}
