package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// writer is the only way to the write connection. Writers that wait while a
// transaction is under way share the next one, each in a savepoint of its own,
// and so one sync of the disk: the first of them leads, the others find their
// change settled. Nobody waits for company.
type writer struct {
	db *DB

	working    sync.Mutex // held by the transaction under way, and by who closes
	conn       *connection
	closed     bool
	stale      bool                        // the connection can't write, a new one might
	columnSets map[columnSetKey]*columnSet // see put.go
	finders    map[*noun]string            // see amend.go
	replicated bool                        // by Litestream; see turnLog
	looked     time.Time                   // when that was known

	mutex   sync.Mutex
	led     bool            // a leader is at work or has been called
	waiting []*writeRequest // those who want in, first come first
	stats   writerStats
}

// writeRequest is one caller's part of a transaction.
type writeRequest struct {
	ctx      context.Context
	by       Actor
	free     bool // housekeeping, which the audit log does not tell of
	run      func(*Tx) error
	queued   bool // it made deliveries due
	err      error
	panicked any
	turn     chan bool // true: lead the next transaction; false: settled
}

// shared bounds how many changes share a transaction, and so how long the
// first of them waits for the last.
const shared = 256

var errWaited = errors.New("waited too long for other writers")

// Write runs a change in the write transaction. What run does is stored whole
// or, if it or the store fails, not at all; on nil it is on disk. A change that
// writes without an audit event is refused. Unavailable means that nothing was
// done and that the call may be repeated.
func (d *DB) Write(ctx context.Context, by Actor, run func(*Tx) error) error {
	return d.writer.enter(&writeRequest{ctx: ctx, by: by, run: run})
}

// maintain runs a change that no caller of the service asked for.
func (d *DB) maintain(ctx context.Context, run func(*Tx) error) error {
	return d.writer.enter(&writeRequest{ctx: ctx, free: true, run: run})
}

func (w *writer) open(ctx context.Context, d *DB) error {
	w.db, w.columnSets, w.stats = d, map[columnSetKey]*columnSet{}, newWriterStats()
	w.finders = map[*noun]string{}
	return w.connect(ctx)
}

func (w *writer) connect(ctx context.Context) error {
	var err error
	if w.conn, err = w.db.connect(ctx, "rw"); err != nil {
		return storeError(err)
	}
	pragmas := []string{
		"PRAGMA journal_mode = WAL", "PRAGMA journal_size_limit = 67108864",
		// a look at the file opens the log: who has not opened it leaves it behind
		"PRAGMA schema_version",
		// the journal of a statement is no file: a quarter of an import's time
		"PRAGMA temp_store = MEMORY",
		// 8 MB hold the ends of all indexes that an import writes to
		"PRAGMA cache_size = -8192",
	}
	var size int
	if err := w.conn.Row("PRAGMA page_count").Scan(&size); err != nil {
		return storeError(err)
	}
	if size == 0 {
		pragmas = slices.Insert(pragmas, 0,
			"BEGIN", // there must be no moment in which the file is anybody's
			// must stand before the first table: lets housekeeping give space back
			"PRAGMA auto_vacuum = INCREMENTAL",
			// before there is a WAL, so that the file's head tells it whatever comes
			fmt.Sprintf("PRAGMA application_id = %d", applicationID),
			"COMMIT")
	}
	for _, pragma := range pragmas {
		if err := w.setUp(ctx, pragma); err != nil {
			return storeError(err)
		}
	}
	w.look()
	return nil
}

// setUp sets up the connection. For the change of a file to a log beside it
// SQLite waits for nobody, not for another process that does the same either.
func (w *writer) setUp(ctx context.Context, pragma string) error {
	for until := time.Now().Add(w.db.options.Wait); ; {
		err := w.conn.set(ctx, pragma)
		if !busy(err) || time.Now().After(until) {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reconnect replaces a connection that SQLite opened for reading alone, since
// the file could not be written then: it would stay so after the file can.
func (w *writer) reconnect() error {
	_ = w.disconnect() // it has nothing to lose
	if info, err := os.Stat(w.db.path); err == nil {
		for _, end := range []string{"-wal", "-shm"} { // SQLite gave them the mode that the file had
			_ = os.Chmod(w.db.path+end, info.Mode().Perm()) // may be another's, or not there
		}
	}
	err := w.connect(context.Background())
	if err != nil {
		_ = w.disconnect()
	}
	return err
}

func (w *writer) disconnect() error {
	conn := w.conn
	if conn == nil {
		return nil
	}
	w.conn = nil
	return conn.close()
}

// close waits for the transaction under way, and lets no other begin.
func (w *writer) close() error {
	w.working.Lock()
	defer w.working.Unlock()
	w.closed = true
	return w.disconnect()
}

// enter brings a change through the door and returns its outcome.
func (w *writer) enter(c *writeRequest) error {
	c.turn = make(chan bool, 1)
	w.mutex.Lock()
	w.waiting = append(w.waiting, c)
	leads := !w.led
	w.led = true
	w.mutex.Unlock()
	if !leads {
		var err error
		if leads, err = w.await(c); err != nil {
			return err
		}
	}
	if leads {
		w.settle(w.transact())
	}
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.err
}

// await waits for a turn, within the bound and as long as the caller cares.
func (w *writer) await(c *writeRequest) (leads bool, err error) {
	timer := time.NewTimer(w.db.options.Wait)
	defer timer.Stop()
	select {
	case leads = <-c.turn:
		return leads, nil
	case <-timer.C:
		err = unavailable(errWaited)
	case <-c.ctx.Done():
		err = c.ctx.Err()
	}
	w.mutex.Lock()
	at := slices.Index(w.waiting, c)
	if at >= 0 && len(c.turn) == 0 {
		w.waiting = slices.Delete(w.waiting, at, at+1)
		w.mutex.Unlock()
		return false, err
	}
	w.mutex.Unlock()
	return <-c.turn, nil // too late to leave: it is being settled, or is to lead
}

// isWanted reports whether a change waits for the next transaction.
func (w *writer) isWanted() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.waiting) > 0
}

// settle tells the members of a transaction that it has ended, and calls the
// next leader.
func (w *writer) settle(batch []*writeRequest) {
	w.mutex.Lock()
	if w.led = len(w.waiting) > 0; w.led {
		w.waiting[0].turn <- true
	}
	w.mutex.Unlock()
	for _, c := range batch[1:] {
		c.turn <- false
	}
}

// take removes the changes that go into the transaction about to run; the
// leader's is the first.
func (w *writer) take() []*writeRequest {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	n := min(len(w.waiting), shared)
	batch := slices.Clone(w.waiting[:n])
	w.waiting = slices.Delete(w.waiting, 0, n)
	return batch
}

// transact runs all that waits in one transaction. It takes the file's lock
// first, so that all who come meanwhile have their part in it, or in its
// failure.
func (w *writer) transact() []*writeRequest {
	w.working.Lock()
	defer w.working.Unlock()
	started := time.Now()
	err := w.begin()
	begun := err == nil
	batch := w.take()
	done := false
	for _, c := range batch {
		if err == nil {
			err = w.runOne(c, len(batch) == 1)
			done = done || !c.failed()
		}
	}
	committed := false
	if err == nil && done && !w.db.frozen.Load() {
		err = w.do("COMMIT")
		committed = err == nil
	}
	if committed {
		w.turnLog()
		w.db.queued.tell(batch)
	} else if begun {
		_ = w.do("ROLLBACK") // may be gone already, which is what is wanted
	}
	if err != nil {
		for _, c := range batch { // those refused, too: it may be for what another one had written
			c.err = storeError(err)
		}
	}
	w.stale = readOnly(err)
	w.note(len(batch), time.Since(started), committed, err)
	return batch
}

func (w *writer) begin() error {
	if w.closed {
		return errClosed
	}
	if w.stale || w.conn == nil {
		if err := w.reconnect(); err != nil {
			return err
		}
	}
	return w.do("BEGIN IMMEDIATE")
}

func (c *writeRequest) failed() bool { return c.err != nil || c.panicked != nil }

// runOne runs a change so that its failure leaves the others untouched; alone,
// it needs no savepoint for that. What it returns fails the whole transaction.
func (w *writer) runOne(c *writeRequest, alone bool) error {
	if c.err = c.ctx.Err(); c.err != nil {
		return nil //nolint:nilerr // the change's failure, not the transaction's
	}
	if !alone {
		if err := w.do("SAVEPOINT change"); err != nil {
			return err
		}
	}
	w.call(c)
	if isTransient(c.err) {
		return c.err
	}
	if alone {
		return nil
	}
	if c.failed() || w.db.frozen.Load() {
		if err := w.do("ROLLBACK TO change"); err != nil {
			return err
		}
	}
	return w.do("RELEASE change")
}

// call runs the change's function and completes what it began. A panic is
// carried to the caller that brought it, lest it ends the leader.
func (w *writer) call(c *writeRequest) {
	defer func() { c.panicked = recover() }()
	now := w.db.Now().Truncate(time.Millisecond)
	tx := &Tx{db: w.db, Actor: c.by, now: now, at: Timestamp(now)}
	if c.err = c.run(tx); c.err == nil {
		c.err = tx.complete()
	}
	c.queued = tx.queued
	if c.err == nil && tx.wrote && !tx.audited && !c.free {
		c.err = fmt.Errorf("a change by %s has no audit event", tx.ID)
	}
}

// do runs a statement of the transaction itself.
func (w *writer) do(query string) error {
	_, err := w.conn.Exec(query)
	return err
}
