package db

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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
	if tx.knew[r] {
		known, err := findRow(tx, r, record)
		if err == nil {
			return putKnown(tx, r, known, record)
		} else if !Is(err, NotFound) {
			return PutResult{}, err
		}
		tx.knew[r] = false
	}
	made, isNew, err := insertRow(tx, r, record, r.Key)
	if err != nil {
		return PutResult{}, err
	}
	if !isNew {
		if tx.knew == nil {
			tx.knew = map[*storedResource]bool{}
		}
		tx.knew[r] = true
		known, err := findRow(tx, r, record)
		if err != nil {
			return PutResult{}, err
		}
		return putKnown(tx, r, known, record)
	}
	isFirstPut(tx, r, made.seq)
	return PutResult{Outcome: Created, ID: made.id, Changes: made.changes},
		r.written(tx, writtenRecord{resource: r, outcome: Created, record: record, row: made})
}

// putKnown changes a record that was there before the import.
func putKnown(tx *Tx, r *storedResource, known storedRow, record Record) (PutResult, error) {
	if !isFirstPut(tx, r, known.seq) {
		return PutResult{Outcome: Repeated, ID: known.id}, nil
	}
	return amend(tx, r, known, record)
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

// readObject returns a record that was written as the API returns it.
func readObject(tx *Tx, w writtenRecord) (object []byte, err error) {
	if w.row.object != nil {
		return w.row.object, nil
	}
	err = tx.Row("SELECT resource FROM "+w.resource.Table+" WHERE seq = ?", w.row.seq).Scan(&object)
	return object, StoreError(err)
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

// columnSet is the statements for records that have the same members.
type columnSet struct {
	resource *storedResource
	names    []string
	// insertUnless inserts where the natural key is free
	insert, insertUnless, update string
	members                      []newMember // nil until it is needed
}

// settable tells the columns that a record's members go to from those that the
// store sets.
func settable(column string) bool {
	switch column {
	case "seq", "org_id", "id", "created_at", "updated_at":
		return false
	}
	return true
}

// columnSetOf finds or makes the statements for the members that a record has.
func columnSetOf(tx *Tx, r *storedResource, record Record) *columnSet {
	columns := tx.db.columns[r.Table]
	mask := uint64(0)
	for i, column := range columns {
		if _, present := record[column]; present && settable(column) {
			mask |= 1 << i
		}
	}
	sets := tx.db.columnSets
	key := columnSetKey{r.Table, mask}
	if known := sets[key]; known != nil {
		return known
	}
	if len(sets) >= maxColumnSets {
		clear(sets)
	}
	set := &columnSet{resource: r}
	for i, column := range columns {
		if mask&(1<<i) != 0 {
			set.names = append(set.names, column)
		}
	}
	set.prepare()
	sets[key] = set
	return set
}

// maxColumnSets bounds the column sets that are kept.
const maxColumnSets = 1000

type columnSetKey struct {
	table string
	mask  uint64
}

func (s *columnSet) prepare() {
	r := s.resource
	names, marks, assigns, numbers := "", "", make([]string, len(s.names)), make([]string, len(s.names))
	for i, name := range s.names {
		names += ", " + name
		marks += ", ?"
		numbers[i] = fmt.Sprintf("?%d", i+4)
		assigns[i] = name + " = " + numbers[i]
	}
	s.insert = "INSERT INTO " + r.Table + " (org_id, id, created_at, updated_at" + names + ") VALUES (?, ?, ?, ?" + marks + ")"
	s.insertUnless = s.insert + " ON CONFLICT (org_id, " + strings.Join(r.Key, ", ") + ") DO NOTHING"
	s.update = "UPDATE " + r.Table + " SET updated_at = iif(?2 > updated_at, ?2, ?3), " + strings.Join(assigns, ", ") +
		" WHERE seq = ?1 AND (" + strings.Join(s.names, ", ") + ") IS NOT (" + strings.Join(numbers, ", ") + ")"
}

// values appends the columns' values to args.
func (s *columnSet) values(args []any, record Record) ([]any, error) {
	for _, name := range s.names {
		value, err := s.resource.columnValue(name, record[name])
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	return args, nil
}

// number keeps whole numbers whole, so that 100 does not come back as 100.0.
func number(column string, n json.Number) (any, error) {
	if whole, err := n.Int64(); err == nil {
		return whole, nil
	}
	float, err := n.Float64()
	if err != nil {
		return nil, &Error{Code: Invalid, Param: column, Message: column + " is outside the range of numbers"}
	}
	if whole := int64(float); float > -1<<53 && float < 1<<53 && float64(whole) == float {
		return whole, nil
	}
	return float, nil
}

// compact encodes values that can be encoded: what came as JSON, and what the
// store itself made.
func compact(v any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
