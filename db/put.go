package db

import (
	"maps"
	"slices"
	"time"

	"govsvc/db/audit"
	"govsvc/db/sqlite"
)

// Record is a record of the data format (contract, section 5) that was checked
// against its schema. Numbers are json.Number.
type Record map[string]any

// Outcome is the result of Put.
type Outcome int

// The outcomes of Put.
const (
	Unchanged Outcome = iota
	Created
	Updated
	// Repeated is a record that the same transaction has put before. It is not
	// written, because it is not known which of the two is right.
	Repeated
)

// writtenRecord is a record that was created or updated.
type writtenRecord struct {
	resource *storedResource
	outcome  Outcome
	record   Record    // what was written
	before   storedRow // zero if the record was created
	row      storedRow // as it is now; after an import, its seq and id alone
}

// Put creates a record or, if one with its natural key exists, sets the members that
// are present and differ. `id` and `created_at` count for a new record only. If
// nothing differs, nothing is written and no event is enqueued. Put writes no audit
// event; see Import for one for each record.
func (tx *Tx) Put(object string, record Record) (Outcome, error) {
	done, err := putObject(tx, object, record)
	return done.Outcome, err
}

func putObject(tx *Tx, object string, record Record) (PutResult, error) {
	r, err := findResource(object)
	if err != nil {
		return PutResult{}, err
	}
	if r.put != nil {
		return r.put(tx, r, record)
	}
	return putRecord(tx, r, record)
}

// putRecord first tries what the record before it needed: to find an existing
// record, or to insert a new one. The records of most imports all need the same.
func putRecord(tx *Tx, r *storedResource, record Record) (PutResult, error) {
	if r.normalize != nil {
		if err := r.normalize(tx, record); err != nil {
			return PutResult{}, err
		}
	}
	if tx.lastExisted[r] {
		existing, err := findRow(tx, r, record)
		if err == nil {
			return putExisting(tx, r, existing, record)
		} else if !Is(err, NotFound) {
			return PutResult{}, err
		}
		tx.lastExisted[r] = false
	}
	made, isNew, err := insertRow(tx, r, record, r.Key)
	if err != nil {
		return PutResult{}, err
	}
	if !isNew {
		if tx.lastExisted == nil {
			tx.lastExisted = map[*storedResource]bool{}
		}
		tx.lastExisted[r] = true
		existing, err := findRow(tx, r, record)
		if err != nil {
			return PutResult{}, err
		}
		return putExisting(tx, r, existing, record)
	}
	isFirstPut(tx, r, made.seq)
	return PutResult{Outcome: Created, ID: made.id, Changes: made.changes},
		r.runAfterWrite(tx, writtenRecord{resource: r, outcome: Created, record: record, row: made})
}

// putExisting changes a record that existed before the import.
func putExisting(tx *Tx, r *storedResource, existing storedRow, record Record) (PutResult, error) {
	if !isFirstPut(tx, r, existing.seq) {
		return PutResult{Outcome: Repeated, ID: existing.id}, nil
	}
	return putMembers(tx, r, existing, record)
}

// putMembers sets the members that are present and differ from the values of the
// row. See replaceMembers for updated_at.
func putMembers(tx *Tx, r *storedResource, before storedRow, record Record) (PutResult, error) {
	done := PutResult{ID: before.id}
	columns := tx.db.columns[r.Table]
	differ := Record{}
	var changes audit.Changes
	for i, column := range columns {
		given, present := record[column]
		if !present || !settable(column) {
			continue
		}
		value, err := r.columnValue(column, given)
		if err != nil {
			return done, err
		}
		if sameValue(value, before.values[i]) {
			continue
		}
		differ[column] = given
		if changes == nil {
			changes = audit.Changes{}
		}
		if !slices.Contains(r.Internal, column) {
			changes[column] = audit.Change{From: r.memberValue(column, before.values[i]), To: r.memberValue(column, value)}
		}
	}
	if len(differ) == 0 {
		return done, nil
	}
	done.Outcome, done.Changes = Updated, changes
	if r.beforeUpdate != nil {
		if err := r.beforeUpdate(tx, before, record, changes); err != nil {
			return done, err
		}
	}
	set := columnSetOf(tx, r, differ)
	args := make([]any, 0, 3+len(set.names))
	args, err := set.values(append(args, before.seq, stampOf(tx, record, "updated_at"), tx.At()), differ)
	if err != nil {
		return done, err
	}
	if _, err = tx.Exec(set.update, args...); sqlite.IsUnique(err) {
		return done, &Error{Code: Invalid, Message: "another " + r.Type + " has this key"}
	} else if err != nil {
		return done, err
	}
	return done, r.runAfterWrite(tx, writtenRecord{resource: r, outcome: Updated, record: record, before: before, row: storedRow{seq: before.seq, id: before.id}})
}

// insertRow adds a row and does not read it. isNew is false if unless, a unique set
// of columns, identifies another row.
func insertRow(tx *Tx, r *storedResource, record Record, unless []string) (made storedRow, isNew bool, err error) {
	if r.onInsert != nil {
		added := r.onInsert(tx, record)
		maps.Copy(record, added)
		defer func() {
			for member := range added {
				delete(record, member)
			}
		}()
	}
	made.id, _ = record["id"].(string)
	if made.id == "" {
		made.id = tx.NewID()
	}
	set := columnSetOf(tx, r, record)
	args := make([]any, 0, 4+len(set.names))
	args = append(args, tx.Org, made.id, stampOf(tx, record, "created_at"), stampOf(tx, record, "updated_at"))
	if args, err = set.values(args, record); err != nil {
		return made, false, err
	}
	query := set.insert
	if len(unless) > 0 {
		query = set.insertUnless
	}
	made.seq, err = tx.Insert(query, args...)
	if sqlite.IsUnique(err) {
		return made, false, &Error{Code: Invalid, Param: "id", Message: "id belongs to another " + r.Type}
	}
	if tx.importing != nil && made.seq != 0 && err == nil {
		made.changes = tx.importing.created(r, record, set, args[4:])
	}
	return made, made.seq != 0, StoreError(err)
}

// findRow reads the row with the record's natural key, with the values of its columns.
func findRow(tx *Tx, r *storedResource, record Record) (storedRow, error) {
	if r.find != nil {
		return r.find(tx, r, record)
	}
	args := make([]any, 1, 1+len(r.Key))
	args[0] = tx.Org
	for _, column := range r.Key {
		value, err := r.columnValue(column, record[column])
		if err != nil {
			return storedRow{}, err
		}
		args = append(args, value)
	}
	return readRow(tx, r, findStatement(tx, r), args...)
}

// replaceMembers sets the members that are present and differ. The record's own
// updated_at counts only if it is later than the stored one: a query for the
// records changed since an instant would miss a row that changes now with an
// earlier updated_at.
func replaceMembers(tx *Tx, r *storedResource, seq int64, record Record) (Outcome, error) {
	set := columnSetOf(tx, r, record)
	if len(set.names) == 0 {
		return Unchanged, nil
	}
	args := make([]any, 0, 3+len(set.names))
	args, err := set.values(append(args, seq, stampOf(tx, record, "updated_at"), tx.At()), record)
	if err != nil {
		return Unchanged, err
	}
	changed, err := tx.Exec(set.update, args...)
	if sqlite.IsUnique(err) {
		return Unchanged, &Error{Code: Invalid, Message: "another " + r.Type + " has this key"}
	}
	if err != nil || changed == 0 {
		return Unchanged, err
	}
	return Updated, nil
}

// stampOf returns a record's own timestamp, or the instant of the transaction.
func stampOf(tx *Tx, record Record, member string) string {
	if text, ok := record[member].(string); ok {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return Timestamp(at)
		}
	}
	return tx.At()
}

// rowSet is a set of rows, with a bit for each. The rows of an import are close
// together in the table, so that millions of them need little memory.
type rowSet map[int64]*[rowsPerPage / 64]uint64

const rowsPerPage = 1024

// add adds a row and reports whether it was not in the set before.
func (s rowSet) add(seq int64) bool {
	page := s[seq/rowsPerPage]
	if page == nil {
		page = new([rowsPerPage / 64]uint64)
		s[seq/rowsPerPage] = page
	}
	word, bit := &page[seq%rowsPerPage/64], uint64(1)<<(seq%64)
	isNew := *word&bit == 0
	*word |= bit
	return isNew
}

// isFirstPut records that the transaction puts a record into a row, and reports
// whether it is the first one.
func isFirstPut(tx *Tx, r *storedResource, seq int64) bool {
	rows := tx.putRows[r]
	if rows == nil {
		if tx.putRows == nil {
			tx.putRows = map[*storedResource]rowSet{}
		}
		rows = rowSet{}
		tx.putRows[r] = rows
	}
	return rows.add(seq)
}

// Find returns the row that Put writes a record to, or 0 if there is none, also because
// Put would refuse the record. Rows of different types may have the same number.
func (tx *Tx) Find(object string, record Record) (row int64, err error) {
	r, err := findResource(object)
	if err != nil {
		return 0, err
	}
	if r.normalize != nil {
		err = r.normalize(tx, record)
	}
	var existing storedRow
	if err == nil {
		existing, err = findRow(tx, r, record)
	}
	if Is(err, NotFound) || Is(err, Invalid) {
		return 0, nil
	}
	return existing.seq, err
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
