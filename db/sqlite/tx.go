package sqlite

// Tx is the write transaction of one request. One goroutine uses it, inside
// DB.Write.
type Tx struct {
	writer  *writer
	changed int64
	commit  []func()
}

// Exec runs a statement and returns how many rows it changed.
func (tx *Tx) Exec(query string, args ...any) (int64, error) {
	result, err := tx.writer.conn.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	tx.changed += result.rows
	return result.rows, nil
}

// Insert runs an INSERT of one row and returns its rowid, 0 if a conflict kept it
// out. It takes a fifth less time than Returning, for which SQLite makes a table
// and a journal for each statement.
func (tx *Tx) Insert(query string, args ...any) (seq int64, err error) {
	result, err := tx.writer.conn.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	if result.rows == 0 {
		return 0, nil
	}
	tx.changed++
	return result.last, nil
}

// InsertRows runs an INSERT of several rows and returns the rowid of the last one. If a
// constraint fails, it inserts none of them.
func (tx *Tx) InsertRows(query string, args ...any) (last int64, err error) {
	result, err := tx.writer.conn.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	tx.changed += result.rows
	return result.last, nil
}

// Row reads the first row of a query, with what the transaction has written so
// far. Its Scan returns ErrNoRows if there is none.
func (tx *Tx) Row(query string, args ...any) Scanner {
	return tx.writer.conn.Row(query, args...)
}

// First reads a row like Row, without the conversion of Scan.
func (tx *Tx) First(query string, args ...any) (Values, error) {
	return tx.writer.conn.first(background, query, args)
}

// Returning runs a statement with RETURNING and reads the one row that it returns.
func (tx *Tx) Returning(query string, args ...any) Scanner {
	return changedRow{tx, tx.Row(query, args...)}
}

// changedRow is a row that a statement wrote.
type changedRow struct {
	tx *Tx
	Scanner
}

// Scan counts the row as changed, unless there is none.
func (r changedRow) Scan(into ...any) error {
	err := r.Scanner.Scan(into...)
	if err != ErrNoRows { //nolint:errorlint // never wrapped
		r.tx.changed++
	}
	return err
}

// Each calls fn for each row of a query, with what the transaction has written so
// far; see Pool.Each.
func (tx *Tx) Each(fn func(Scanner) error, query string, args ...any) error {
	return tx.writer.conn.Each(fn, query, args...)
}

// Changed returns how many rows the transaction has changed so far.
func (tx *Tx) Changed() int64 { return tx.changed }

// AfterCommit calls fn after the commit, before DB.Write returns. fn must be
// short, because the next transaction waits for it. It is not called if the
// request fails or if the file is frozen.
func (tx *Tx) AfterCommit(fn func()) { tx.commit = append(tx.commit, fn) }

// Contended reports whether a request waits for the end of this one.
func (tx *Tx) Contended() bool { return tx.writer.isContended() }

// Share keeps a value for the later requests of the same transaction. It is dropped when a
// request fails, because what the request has written is rolled back.
func (tx *Tx) Share(value any) { tx.writer.shared = value }

// Shared returns the value passed to Share; nil if there is none.
func (tx *Tx) Shared() any { return tx.writer.shared }
