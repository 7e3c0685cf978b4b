package sqlite

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// writer owns the only connection that writes, and serializes write requests by
// group commit. Requests that wait, or arrive while others run, share a transaction
// and its sync of the disk. The first of them leads: its goroutine runs the whole
// batch. See gathering for the wait before a commit.
type writer struct {
	db *DB

	working    sync.Mutex // held by the running transaction, and by close
	conn       *conn
	closed     bool
	stale      bool // the connection can't write; a new connection may be able to
	commits    ownCommits
	shared     any       // see Tx.Share
	replicated bool      // Litestream replicates the file
	checked    time.Time // when replicated was last updated

	mutex     sync.Mutex
	led       bool // a leader runs a batch, or is about to run one
	waiting   []*writeRequest
	gathering gathering
	stats     writerStats
}

// writeRequest is one caller's part of a batch.
type writeRequest struct {
	ctx        context.Context
	run        func(*Tx) error
	repeatable bool     // run may be called again after a rollback
	alone      bool     // no other request shares the transaction
	commit     []func() // to be called after the commit
	changed    bool     // run has changed rows
	err        error
	panicked   any
	turn       chan bool // true: lead the next batch; false: the request is done
}

// maxBatch bounds the requests of a batch, and so how long the first one waits
// for the last one.
const maxBatch = 256

// joinTime bounds how long a batch takes requests that arrive while it runs.
const joinTime = 20 * time.Millisecond

// Write runs a request in the write transaction. If run returns nil and the
// commit succeeds, its writes are on disk. Otherwise no write of it is stored. A request
// can fail because of another one in its batch. IsTransient reports true for that error,
// and the caller may repeat the call.
func (d *DB) Write(ctx context.Context, run func(*Tx) error) error {
	return d.writer.enter(&writeRequest{ctx: ctx, run: run})
}

// WriteRepeatable is Write for a function that may be called more than once, each time
// with what it wrote before rolled back. It takes less time in a batch.
func (d *DB) WriteRepeatable(ctx context.Context, run func(*Tx) error) error {
	return d.writer.enter(&writeRequest{ctx: ctx, run: run, repeatable: true})
}

// WriteAlone is Write in a transaction of its own, for a function that takes long. Requests
// before it do not wait for it, and no savepoint copies the pages that it changes.
func (d *DB) WriteAlone(ctx context.Context, run func(*Tx) error) error {
	return d.writer.enter(&writeRequest{ctx: ctx, run: run, alone: true})
}

// TraceWrites calls fn with each statement of the write transactions, before it
// runs. Tests use it; nil stops the calls.
func (d *DB) TraceWrites(fn func(query string)) {
	d.writer.working.Lock()
	defer d.writer.working.Unlock()
	d.writer.conn.trace = fn
}

func (w *writer) open(ctx context.Context, d *DB) error {
	w.db, w.stats = d, newWriterStats()
	w.gathering.arrived = make(chan struct{}, 1)
	return w.connect(ctx)
}

func (w *writer) connect(ctx context.Context) error {
	w.commits = ownCommits{}
	var err error
	if w.conn, err = w.db.connect(ctx, "rw"); err != nil {
		return err
	}
	pragmas := []string{
		"PRAGMA journal_mode = WAL", "PRAGMA journal_size_limit = 67108864",
		// A connection that never reads the log does not remove it on close.
		"PRAGMA schema_version",
		// A journal of a statement in a file takes a quarter of an import's time.
		"PRAGMA temp_store = MEMORY",
		// 8 MB are enough for the ends of all indexes that an import writes to.
		"PRAGMA cache_size = -8192",
	}
	var size int
	if err := w.conn.Row("PRAGMA page_count").Scan(&size); err != nil {
		return err
	}
	if size == 0 {
		pragmas = slices.Insert(pragmas, 0,
			"BEGIN", // so that the file is never without its application id
			// Must precede the first table. It allows ReleaseFreeSpace to shrink the file.
			"PRAGMA auto_vacuum = INCREMENTAL",
			// Must precede the log, so that the head of the file has the id.
			fmt.Sprintf("PRAGMA application_id = %d", w.db.options.ApplicationID),
			"COMMIT")
	}
	for _, pragma := range pragmas {
		if err := w.setUp(ctx, pragma); err != nil {
			return err
		}
	}
	w.checkReplication()
	return nil
}

// setUp runs a pragma of connect. SQLite does not wait for other processes when
// it switches a file to a write-ahead log, so setUp retries.
func (w *writer) setUp(ctx context.Context, pragma string) error {
	for until := time.Now().Add(w.db.options.Wait); ; {
		err := w.conn.runOnce(ctx, pragma)
		if !IsBusy(err) || time.Now().After(until) {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reconnect replaces a connection that SQLite opened for reading because the file
// could not be written then. Such a connection stays read-only.
func (w *writer) reconnect() error {
	_ = w.disconnect() // it has nothing to write
	path := w.db.Path()
	if info, err := os.Stat(path); err == nil {
		for _, suffix := range []string{"-wal", "-shm"} { // SQLite gave them the file's mode
			_ = os.Chmod(path+suffix, info.Mode().Perm()) // fails if they are another user's
		}
	}
	err := w.connect(context.Background())
	if err != nil {
		_ = w.disconnect()
	}
	return err
}

func (w *writer) disconnect() error {
	c := w.conn
	if c == nil {
		return nil
	}
	w.conn = nil
	return c.close()
}

// close waits for the running transaction. Later transactions fail with ErrClosed.
func (w *writer) close() error {
	w.working.Lock()
	defer w.working.Unlock()
	w.closed = true
	return w.disconnect()
}

// enter queues a request and returns its outcome.
func (w *writer) enter(r *writeRequest) error {
	r.turn = make(chan bool, 1)
	w.mutex.Lock()
	w.waiting = append(w.waiting, r)
	leads := !w.led
	w.led = true
	if w.gathering.wanted {
		w.gathering.wanted = false
		w.gathering.arrived <- struct{}{}
	}
	w.mutex.Unlock()
	if !leads {
		var err error
		if leads, err = w.await(r); err != nil {
			return err
		}
	}
	if leads {
		w.finish(w.transact())
	}
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

// await waits until the request leads a batch or is done. It gives up after the
// bound and when the request's context ends.
func (w *writer) await(r *writeRequest) (leads bool, err error) {
	timer := time.NewTimer(w.db.options.Wait)
	defer timer.Stop()
	select {
	case leads = <-r.turn:
		return leads, nil
	case <-timer.C:
		err = ErrWriterBusy
	case <-r.ctx.Done():
		err = r.ctx.Err()
	}
	w.mutex.Lock()
	at := slices.Index(w.waiting, r)
	if at >= 0 && len(r.turn) == 0 {
		w.waiting = slices.Delete(w.waiting, at, at+1)
		w.mutex.Unlock()
		return false, err
	}
	w.mutex.Unlock()
	return <-r.turn, nil // too late to leave: a batch has it, or it leads
}

// isContended reports whether a request waits that is not part of the batch yet.
func (w *writer) isContended() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.waiting) > 0
}

// finish calls the next leader and reports to the requests of a batch that they
// are done.
func (w *writer) finish(batch []*writeRequest) {
	w.mutex.Lock()
	if w.led = len(w.waiting) > 0; w.led {
		w.waiting[0].turn <- true
	}
	w.mutex.Unlock()
	for _, r := range batch[1:] {
		r.turn <- false
	}
}

// joining returns how many of the waiting requests can join a batch of that size. The
// caller holds the mutex.
func (w *writer) joining(size int) int {
	first := slices.IndexFunc(w.waiting, func(r *writeRequest) bool { return r.alone })
	switch {
	case first == 0 && size == 0:
		return 1
	case first < 0:
		first = len(w.waiting)
	}
	return min(first, maxBatch-size)
}

// take moves the waiting requests that can join a batch to it. The leader's is the first.
func (w *writer) take(batch []*writeRequest) []*writeRequest {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	n := w.joining(len(batch))
	batch = append(batch, w.waiting[:n]...)
	w.waiting = slices.Delete(w.waiting, 0, n)
	return batch
}

// transact runs a batch of requests in one transaction. It takes the lock of the file
// first and the requests then. So requests that arrive during the wait for the lock are
// part of the batch, and fail with it if the lock cannot be taken.
func (w *writer) transact() []*writeRequest {
	w.working.Lock()
	defer w.working.Unlock()
	started := time.Now()
	err := w.begin()
	begun := err == nil
	var batch []*writeRequest
	if begun {
		batch, err = w.runBatch(started)
		w.conn.observe = nil
	} else {
		batch = w.take(nil)
	}
	succeeded := slices.ContainsFunc(batch, func(r *writeRequest) bool { return !r.failed() })
	committed := false
	if err == nil && succeeded && !w.db.Frozen() {
		began := time.Now()
		if err = w.commit(); err == nil {
			committed = true
			if !batch[0].alone { // its commit takes longer than others
				w.gathering.committed(len(batch), time.Since(began))
			}
		}
	}
	if committed {
		w.checkpoint()
		w.emptyReplicatedWAL()
		notifyCommitted(batch)
	} else if begun {
		_ = w.do("ROLLBACK") // fails if SQLite has already rolled back
	}
	if err != nil {
		// All requests of the batch fail, because a request may depend on the writes of
		// another one.
		for _, r := range batch {
			r.err = err
		}
	}
	w.stale = isReadOnly(err)
	w.note(len(batch), time.Since(started), committed, err)
	return batch
}

func (w *writer) begin() error {
	if w.closed {
		return ErrClosed
	}
	if w.stale || w.conn == nil {
		if err := w.reconnect(); err != nil {
			return err
		}
		w.stale = false // runAgain begins again
	}
	w.shared = nil
	if err := w.do("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	w.trackCommit()
	return nil
}

func notifyCommitted(batch []*writeRequest) {
	for _, r := range batch {
		if !r.failed() {
			for _, fn := range r.commit {
				fn()
			}
		}
	}
}

func (r *writeRequest) failed() bool { return r.err != nil || r.panicked != nil }

// runBatch runs the waiting requests, and those that join the batch while it runs. The
// error that it returns fails the whole batch.
//
// A request that fails must not affect the others. With a savepoint for each, SQLite
// copies each page before a request changes it. So repeatable requests run without
// savepoints. If one fails that has changed rows, all of them run again, with savepoints.
func (w *writer) runBatch(started time.Time) (batch []*writeRequest, err error) {
	frozen := w.db.Frozen()
	savepoints := frozen
	patience := w.gathering.patience()
	for ran := 0; ; ran++ {
		for ran == len(batch) {
			if ran > 0 && (time.Since(started) > joinTime || !w.gather(ran, &patience)) {
				return batch, nil
			}
			batch = w.take(batch)
		}
		r, alone := batch[ran], len(batch) == 1
		savepoints = savepoints || !r.repeatable
		savepoint := savepoints && (frozen || !alone)
		if err := w.runOne(r, savepoint); err != nil {
			return batch, err
		}
		if r.alone {
			return batch, nil
		}
		if savepoint || !r.failed() || !r.changed {
			continue
		}
		if alone {
			return batch, nil // nothing to commit
		}
		savepoints = true
		if err := w.runAgain(batch[:ran+1]); err != nil {
			return batch, err
		}
	}
}

// runAgain rolls back requests that have run and runs them with savepoints.
func (w *writer) runAgain(batch []*writeRequest) error {
	if err := w.do("ROLLBACK"); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	for _, r := range batch {
		if err := w.runOne(r, true); err != nil {
			return err
		}
	}
	return nil
}

// runOne runs a request. The error that it returns fails the whole batch.
func (w *writer) runOne(r *writeRequest, savepoint bool) error {
	if r.err = r.ctx.Err(); r.err != nil {
		return nil //nolint:nilerr // the request fails, not the batch
	}
	if savepoint {
		if err := w.do("SAVEPOINT request"); err != nil {
			return err
		}
	}
	w.call(r)
	if r.failed() || w.db.Frozen() {
		w.shared = nil
	}
	if isTransient(r.err) {
		return r.err
	}
	if !savepoint {
		return nil
	}
	if r.failed() || w.db.Frozen() {
		if err := w.do("ROLLBACK TO request"); err != nil {
			return err
		}
	}
	return w.do("RELEASE request")
}

// call calls the request's function. A panic is passed on to the goroutine that
// made the request, so that it does not crash the goroutine that runs the batch.
func (w *writer) call(r *writeRequest) {
	tx := &Tx{writer: w}
	defer func() {
		r.panicked, r.commit, r.changed = recover(), tx.commit, tx.changed > 0
	}()
	r.err = r.run(tx)
}

// do runs a statement of the transaction itself.
func (w *writer) do(query string) error {
	_, err := w.conn.Exec(query)
	return err
}
