package db

import (
	"maps"
	"slices"
	"time"

	"govsvc/db/audit"
	"govsvc/db/sqlite"
)

// Record is one record of the data format (contract, section 5), checked
// against its schema: member to value, numbers as json.Number.
type Record map[string]any

// Outcome says what Put did with a record.
type Outcome int

// The outcomes of Put.
const (
	Unchanged Outcome = iota
	Created
	Updated
	// Repeated is a record that the same change has put before. Nothing is
	// written: which of the two counts can't be known.
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

// Put writes a record under its natural key: it is made if it is new, and
// otherwise the members that are present replace those stored. `id` and
// `created_at` count for a new record only. Nothing is written, and nothing
// raised, where all is as it was. Put writes no audit event; see Import for
// records that have one each.
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

// putRecord first does what the record before it needed: it looks for a known
// record, or inserts a new one. Most files hold one or the other.
func putRecord(tx *Tx, r *storedResource, record Record) (PutResult, error) {
	if r.normalize != nil {
		if err := r.normalize(tx, record); err != nil {
			return PutResult{}, err
		}
	}
	if tx.lastExisted[r] {
		known, err := findRow(tx, r, record)
		if err == nil {
			return putExisting(tx, r, known, record)
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
		known, err := findRow(tx, r, record)
		if err != nil {
			return PutResult{}, err
		}
		return putExisting(tx, r, known, record)
	}
	isFirstPut(tx, r, made.seq)
	return PutResult{Outcome: Created, ID: made.id, Changes: made.changes},
		r.runAfterWrite(tx, writtenRecord{resource: r, outcome: Created, record: record, row: made})
}

// putExisting changes a record that was there before the import.
func putExisting(tx *Tx, r *storedResource, known storedRow, record Record) (PutResult, error) {
	if !isFirstPut(tx, r, known.seq) {
		return PutResult{Outcome: Repeated, ID: known.id}, nil
	}
	return putMembers(tx, r, known, record)
}

// putMembers gives a known record the members that are present and differ. It reads
// nothing: the row's values come with it. See replace for updated_at.
func putMembers(tx *Tx, r *storedResource, known storedRow, record Record) (PutResult, error) {
	done := PutResult{ID: known.id}
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
		if sameValue(value, known.values[i]) {
			continue
		}
		differ[column] = given
		if changes == nil {
			changes = audit.Changes{}
		}
		if !slices.Contains(r.Internal, column) {
			changes[column] = audit.Change{From: r.memberValue(column, known.values[i]), To: r.memberValue(column, value)}
		}
	}
	if len(differ) == 0 {
		return done, nil
	}
	done.Outcome, done.Changes = Updated, changes
	if r.beforeUpdate != nil {
		if err := r.beforeUpdate(tx, known, record, changes); err != nil {
			return done, err
		}
	}
	set := columnSetOf(tx, r, differ)
	args := make([]any, 0, 3+len(set.names))
	args, err := set.values(append(args, known.seq, stampOf(tx, record, "updated_at"), tx.At()), differ)
	if err != nil {
		return done, err
	}
	if _, err = tx.Exec(set.update, args...); sqlite.IsUnique(err) {
		return done, &Error{Code: Invalid, Message: "this " + r.Type + " would take the key of another"}
	} else if err != nil {
		return done, err
	}
	return done, r.runAfterWrite(tx, writtenRecord{resource: r, outcome: Updated, record: record, before: known, row: storedRow{seq: known.seq, id: known.id}})
}

// insertRow adds a row and does not read it. The row is not new where unless, a unique
// set of columns, names another one.
func insertRow(tx *Tx, r *storedResource, record Record, unless []string) (made storedRow, isNew bool, err error) {
	if r.onInsert != nil {
		born := r.onInsert(tx, record)
		maps.Copy(record, born)
		defer func() {
			for member := range born {
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
		return made, false, &Error{Code: Invalid, Param: "id", Message: "id is that of another " + r.Type + " already"}
	}
	if tx.importing != nil && made.seq != 0 && err == nil {
		made.changes = tx.importing.created(r, record, set, args[4:])
	}
	return made, made.seq != 0, StoreError(err)
}

// findRow reads the row with the record's natural key, with the values of its
// columns.
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

// replaceMembers sets the members that are present and differ. An updated_at that the
// record brings counts only if it is later than the one stored: a row that
// changes now under an old stamp would be missed by those who ask for what
// changed since.
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
		return Unchanged, &Error{Code: Invalid, Message: "this " + r.Type + " would take the key of another"}
	}
	if err != nil || changed == 0 {
		return Unchanged, err
	}
	return Updated, nil
}

// stampOf is a record's own timestamp, or the instant of the change.
func stampOf(tx *Tx, record Record, member string) string {
	if text, ok := record[member].(string); ok {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return Timestamp(at)
		}
	}
	return tx.At()
}

// rowSet holds rows of a table, a bit each: those of an import stand close
// together, whether they are new or known, so millions take little memory.
type rowSet map[int64]*[rowsPerPage / 64]uint64

const rowsPerPage = 1024

// add tells whether the row was not in the set before.
func (s rowSet) add(seq int64) bool {
	page := s[seq/rowsPerPage]
	if page == nil {
		page = new([rowsPerPage / 64]uint64)
		s[seq/rowsPerPage] = page
	}
	word, bit := &page[seq%rowsPerPage/64], uint64(1)<<(seq%64)
	fresh := *word&bit == 0
	*word |= bit
	return fresh
}

// isFirstPut notes that a record is put into a row, and tells whether it is the
// first of the change.
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

// Find tells the row that Put writes a record to, by its natural key; 0 where
// there is none, be it because Put would refuse the record. Rows of different
// types may have the same number.
func (tx *Tx) Find(object string, record Record) (row int64, err error) {
	r, err := findResource(object)
	if err != nil {
		return 0, err
	}
	if r.normalize != nil {
		err = r.normalize(tx, record)
	}
	var known storedRow
	if err == nil {
		known, err = findRow(tx, r, record)
	}
	if Is(err, NotFound) || Is(err, Invalid) {
		return 0, nil
	}
	return known.seq, err
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
