package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"govsvc/db/fair"
	"govsvc/db/sqlite"
)

// Actor is who changes the file, for the audit log.
type Actor struct {
	Org       Org
	ID        string // key:<id>, a user's id, or system
	API       bool   // through the API, not the dashboard or the command line
	RequestID string // of the API's request, if it was one
	Address   string // of the client, if it was a request

	OSUser  string // the operating-system user that ran the command
	OSLogin string // the user who called sudo, if that is another one
	Reason  string // why, as given at the command line
}

// Tx is a change under way. One goroutine uses it, inside Write.
type Tx struct {
	*sqlite.Tx
	Actor

	db      *DB
	now     time.Time // the one instant of all that the change writes
	at      string    // the same, as stored
	exempt  int64     // changed rows that need no audit event
	audited bool
	woken   bool // the delivery loop is woken after the commit

	batch       *batch
	roadmaps    map[string][]string        // ids of changed roadmaps → keys of changed milestones
	riskNumber  int                        // the greatest number of an imported RISK-0001
	unnumbered  []storedRow                // imported incidents without a key
	putRows     map[*storedResource]rowSet // what was put
	lastExisted map[*storedResource]bool   // the record put last was known before
	keyResults  map[string]keyResultRef    // of imported check-ins, by code
	checkedIn   map[int64]string           // key results with imported check-ins; see noteCheckin
	importing   *Import                    // nil outside of an import
	eventText   []byte                     // of the last audit event; its memory is used again
	changesText []byte                     // of the last new record, for its audit event
}

// batch is what the changes of one transaction share, so that it is read once for all of
// them; see sqlite.Tx.Share.
type batch struct {
	logs map[Org]*auditHead // the ends of audit logs
	// receiverSets are those found by receiverSet. A change of subscriptions clears them.
	receiverSets map[receiverSetKey]int64
}

// At returns the instant of the change, as stored.
func (tx *Tx) At() string { return tx.at }

// Now returns the instant of the change.
func (tx *Tx) Now() time.Time { return tx.now }

// NewID makes the id of a new row.
func (tx *Tx) NewID() string { return tx.db.newID() }

// Write runs a change in the write transaction. If run returns nil and the commit
// succeeds, the change is on disk. Otherwise nothing of it is stored. A change that
// writes without an audit event is refused. After Unavailable, the call may be repeated.
func (d *DB) Write(ctx context.Context, by Actor, run func(*Tx) error) error {
	return d.write(ctx, d.engine.Write, by, run, true)
}

// WriteRepeatable is Write for a function that may be called more than once, each time
// with what it wrote before rolled back. So it changes nothing but the file and its
// results. It takes less time while others write.
func (d *DB) WriteRepeatable(ctx context.Context, by Actor, run func(*Tx) error) error {
	return d.write(ctx, d.engine.WriteRepeatable, by, run, true)
}

// WriteAlone is Write in a transaction of its own, for a change that takes long.
func (d *DB) WriteAlone(ctx context.Context, by Actor, run func(*Tx) error) error {
	return d.write(ctx, d.engine.WriteAlone, by, run, true)
}

// Maintain runs a change that no caller of the service asked for. It needs no audit
// event.
func (d *DB) Maintain(ctx context.Context, run func(*Tx) error) error {
	return d.write(ctx, d.engine.Write, Actor{}, run, false)
}

// write runs a change with a method of the engine.
func (d *DB) write(ctx context.Context, with func(context.Context, func(*sqlite.Tx) error) error, by Actor, run func(*Tx) error, audited bool) error {
	err := with(ctx, func(of *sqlite.Tx) error { return newTx(d, of, by).run(run, audited) })
	if sqlite.IsTransient(err) {
		return StoreError(err)
	}
	return err
}

func newTx(d *DB, of *sqlite.Tx, by Actor) *Tx {
	now := d.Now().Truncate(time.Millisecond)
	shared, ok := of.Shared().(*batch)
	if !ok {
		shared = &batch{logs: map[Org]*auditHead{}, receiverSets: map[receiverSetKey]int64{}}
		of.Share(shared)
	}
	return &Tx{Tx: of, db: d, Actor: by, batch: shared, now: now, at: Timestamp(now)}
}

// run runs a change's function, completes what it began, and checks that it is
// audited.
func (tx *Tx) run(change func(*Tx) error, audited bool) error {
	if err := change(tx); err != nil {
		return err
	}
	if err := tx.complete(); err != nil {
		return err
	}
	if audited && !tx.audited && tx.Changed() > tx.exempt {
		return fmt.Errorf("a change by %s has no audit event", tx.ID)
	}
	return nil
}

// complete writes the rows that a transaction writes only once, at its end.
func (tx *Tx) complete() error {
	if err := countRisks(tx); err != nil {
		return err
	}
	if err := followCheckins(tx); err != nil {
		return err
	}
	if err := numberIncidents(tx); err != nil {
		return err
	}
	if err := enqueueRoadmapUpdate(tx); err != nil {
		return err
	}
	return storeEvents(tx)
}

// WakeDeliveries wakes the delivery loop after the commit of a change that made
// deliveries due.
func (tx *Tx) WakeDeliveries() {
	if !tx.woken {
		tx.woken = true
		tx.AfterCommit(tx.db.wakeDeliveries)
	}
}

// wakeDeliveries does not wait: the channel keeps one value for the delivery loop.
func (d *DB) wakeDeliveries() {
	select {
	case d.due <- struct{}{}:
	default:
	}
}

// Queued receives a value after commits through this DB that made deliveries due. It
// serves one delivery loop.
func (d *DB) Queued() <-chan struct{} { return d.due }

// Absent reports whether err means that a query returned no row. It returns all other
// errors.
func Absent(err error) (bool, error) {
	if err == sqlite.ErrNoRows { //nolint:errorlint // never wrapped by Scan
		return true, nil
	}
	return false, err
}

// Scanner is one row of a result, or the error that came instead of it.
type Scanner = sqlite.Scanner

// Row reads one row in the pool of bounded lookups. Its Scan returns
// sqlite.ErrNoRows if there is none.
func (d *DB) Row(ctx context.Context, query string, args ...any) Scanner {
	return d.engine.Lookups.Row(ctx, query, args...)
}

// Each calls fn for each row of a query in the pool of bounded lookups; see
// sqlite.Pool.Each.
func (d *DB) Each(ctx context.Context, fn func(Scanner) error, query string, args ...any) error {
	return StoreError(d.engine.Lookups.Each(ctx, fn, query, args...))
}

// Bounds of searches.
const (
	// searchTime is how long a search may take, with its wait.
	searchTime = 10 * time.Second
	// maxWaitingSearches bounds the searches of one user that wait.
	maxWaitingSearches = 16
)

// Search runs a read whose time grows with the data, in the pool for searches. It
// bounds the time. It runs the searches of one user one after the other, so that they
// delay that user only. The user "" is not bounded.
func (d *DB) Search(ctx context.Context, user string, run func(context.Context, *sqlite.Pool) error) error {
	bounded, cancel := context.WithTimeout(ctx, d.options.SearchTime)
	defer cancel()
	release, err := d.searches.Acquire(bounded, user)
	if err == nil {
		defer release()
		err = run(bounded, d.engine.Searches)
	}
	var known *Error
	switch {
	case errors.Is(err, fair.ErrCrowded):
		return &Error{Code: SearchBusy, RetryAfter: time.Second, Message: "too many of your searches are running; wait for them to end, and search again"}
	case err != nil && ctx.Err() != nil:
		return ctx.Err() // instead of the error of the interrupted statement
	case err != nil && bounded.Err() != nil && (!errors.As(err, &known) || known.Code == Unavailable):
		return &Error{Code: SearchTimeout, Err: err, Message: fmt.Sprintf("the search was stopped after %s; "+
			"search for a longer or rarer word, set a filter, or sort by the default order", d.options.SearchTime)}
	}
	return StoreError(err)
}

// Snapshot is the file at one instant: all reads through it see the same state. One
// goroutine uses it, inside DB.Snapshot, for a short time: the log beside the file
// cannot be emptied while it lasts.
type Snapshot struct{ snapshot *sqlite.Snapshot }

// Snapshot runs read with the state of the file at read's first query.
func (d *DB) Snapshot(ctx context.Context, read func(*Snapshot) error) error {
	var failed error
	err := d.engine.Bulk.Snapshot(ctx, func(s *sqlite.Snapshot) error {
		failed = read(&Snapshot{s})
		return failed
	})
	if failed != nil {
		return failed
	}
	return StoreError(err)
}

// Each calls fn for each row of a query; see sqlite.Pool.Each.
func (s *Snapshot) Each(ctx context.Context, fn func(Scanner) error, query string, args ...any) error {
	return StoreError(s.snapshot.Each(ctx, fn, query, args...))
}

// Records calls each with every record of a type, as JSON, oldest first. It has what
// Put reads, and would write unchanged. The bytes are valid during the call.
func (s *Snapshot) Records(ctx context.Context, org Org, object string, each func([]byte) error) error {
	r, err := findResource(object)
	if err != nil {
		return err
	}
	var record sqlite.RawBytes
	return s.Each(ctx, func(row Scanner) error {
		if err := row.Scan(&record); err != nil {
			return StoreError(err)
		}
		return each(record)
	}, "SELECT record FROM "+r.Type+"_records WHERE org_id = ? ORDER BY created_at, id", org)
}

// Records reads one type in a new snapshot; see Snapshot.Records.
func (d *DB) Records(ctx context.Context, org Org, object string, each func([]byte) error) error {
	return d.Snapshot(ctx, func(s *Snapshot) error { return s.Records(ctx, org, object, each) })
}
