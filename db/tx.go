package db

import (
	"database/sql"
	"time"
)

// Actor says who changes the file, for the audit log.
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

// Tx is a change under way. It is used by one goroutine, inside Write.
type Tx struct {
	Actor

	db      *DB
	now     time.Time // the one instant of all that the change writes
	at      string    // the same, as stored
	wrote   bool
	audited bool
	queued  bool // it made deliveries due

	// receiverSets caches receiverSet by the type of event. A change of the
	// subscriptions within the transaction clears it.
	receiverSets map[string]int64
	roadmaps     map[string][]string // ids of changed roadmaps → keys of changed milestones
	riskNumber   int                 // the greatest number of an imported RISK-0001
	placed       map[*noun]rowSet    // what was put
	knew         map[*noun]bool      // the record put last was known before
	importing    *Import             // nil outside of an import
	logs         map[Org]*auditHead  // the ends of audit logs, once read
	eventText    []byte              // of the last audit event; its memory is used again
}

// At is the instant of the change, as stored.
func (tx *Tx) At() string { return tx.at }

// Now is the instant of the change.
func (tx *Tx) Now() time.Time { return tx.now }

func (tx *Tx) newID() string { return tx.db.newID() }

// complete writes what is told once for the whole change.
func (tx *Tx) complete() error {
	if err := tx.countRisks(); err != nil {
		return err
	}
	if err := tx.enqueueRoadmapUpdate(); err != nil {
		return err
	}
	return tx.storeEvents()
}

// Exec runs a statement and returns how many rows it changed.
func (tx *Tx) Exec(query string, args ...any) (int64, error) {
	result, err := tx.db.writer.conn.Exec(query, args...)
	if err != nil {
		return 0, storeError(err)
	}
	rows, err := result.RowsAffected()
	tx.wrote = tx.wrote || rows > 0
	return rows, err
}

// Insert runs an INSERT of one row and returns its rowid, 0 if a conflict kept it
// out. It takes a fifth less than RETURNING does, for which SQLite makes a
// table and a journal a statement. The error is the driver's.
func (tx *Tx) Insert(query string, args ...any) (seq int64, err error) {
	result, err := tx.db.writer.conn.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	if rows, err := result.RowsAffected(); rows == 0 {
		return 0, err
	}
	tx.wrote = true
	return result.LastInsertId()
}

// Row reads one row, seeing what the transaction has written so far;
// sql.ErrNoRows if there is none.
func (tx *Tx) Row(query string, args ...any) Scanner {
	return tx.db.writer.conn.Row(query, args...)
}

// Returning runs a statement with RETURNING and reads the one row that it gives.
func (tx *Tx) Returning(query string, args ...any) Scanner {
	return changedRow{tx, tx.Row(query, args...)}
}

// changedRow is a row that was written; without one, nothing was.
type changedRow struct {
	tx *Tx
	Scanner
}

func (r changedRow) Scan(into ...any) error {
	err := r.Scanner.Scan(into...)
	r.tx.wrote = r.tx.wrote || err != sql.ErrNoRows //nolint:errorlint // never wrapped by Scan
	return err
}

// Each calls each for every row, seeing what the transaction has written.
func (tx *Tx) Each(each func(Scanner) error, query string, args ...any) error {
	return storeError(tx.db.writer.conn.Each(each, query, args...))
}

// absent turns the lack of a row into false.
func absent(err error) (bool, error) {
	if err == sql.ErrNoRows { //nolint:errorlint // never wrapped by Scan
		return true, nil
	}
	return false, err
}
