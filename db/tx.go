package db

import (
	"context"
	"fmt"
	"time"

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

	// receiverSets caches receiverSet by the type of event. A change of the
	// subscriptions within the transaction clears it.
	receiverSets map[string]int64
	roadmaps     map[string][]string        // ids of changed roadmaps → keys of changed milestones
	riskNumber   int                        // the greatest number of an imported RISK-0001
	putRows      map[*storedResource]rowSet // what was put
	lastExisted  map[*storedResource]bool   // the record put last was known before
	importing    *Import                    // nil outside of an import
	logs         map[Org]*auditHead         // the ends of audit logs, once read
	eventText    []byte                     // of the last audit event; its memory is used again
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
	return d.write(ctx, by, run, true)
}

// Maintain runs a change that no caller of the service asked for. It needs no audit
// event.
func (d *DB) Maintain(ctx context.Context, run func(*Tx) error) error {
	return d.write(ctx, Actor{}, run, false)
}

func (d *DB) write(ctx context.Context, by Actor, run func(*Tx) error, audited bool) error {
	err := d.engine.Write(ctx, func(of *sqlite.Tx) error { return newTx(d, of, by).run(run, audited) })
	if sqlite.IsTransient(err) {
		return StoreError(err)
	}
	return err
}

func newTx(d *DB, of *sqlite.Tx, by Actor) *Tx {
	now := d.Now().Truncate(time.Millisecond)
	return &Tx{Tx: of, db: d, Actor: by, now: now, at: Timestamp(now)}
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

// complete writes what the change writes once, at its end.
func (tx *Tx) complete() error {
	if err := countRisks(tx); err != nil {
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
