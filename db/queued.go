package db

import "context"

// queued tells the delivery loop of this process that a commit of this process
// made deliveries due. It holds at most one word, and nobody waits to say it.
type queued chan struct{}

func (q queued) tell(batch []*writeRequest) {
	for _, c := range batch {
		if c.queued && !c.failed() {
			select {
			case q <- struct{}{}:
			default:
			}
			return
		}
	}
}

// Queued gives a value after commits through this DB that made deliveries due.
// It serves one delivery loop.
func (d *DB) Queued() <-chan struct{} { return d.queued }

// Watch tells of commits to the file by anybody, other processes included. It
// is used by one goroutine at a time.
type Watch struct {
	conn    *connection // kept: the count is the connection's own
	version int64
}

// Watch starts to watch the file.
func (d *DB) Watch(ctx context.Context) (*Watch, error) {
	conn, err := d.connect(ctx, "ro")
	if err != nil {
		return nil, storeError(err)
	}
	w := &Watch{conn: conn}
	if _, err := w.Moved(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Moved tells whether something was committed since the last call, at a cost
// of microseconds.
func (w *Watch) Moved() (bool, error) {
	before := w.version
	err := w.conn.Row("PRAGMA data_version").Scan(&w.version)
	return w.version != before, storeError(err)
}

// Close ends the watch.
func (w *Watch) Close() {
	_ = w.conn.close() // it held no lock, and nothing to be written
}
