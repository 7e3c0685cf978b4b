package db

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"govsvc/db/audit"
	"govsvc/db/sqlite"
)

// storedRow is a row of a resource. It was read with all members, by readRecord,
// or with the values of its columns, by readRow.
type storedRow struct {
	seq     int64
	id      string
	object  []byte         // as the API returns it; nil where the values were read
	members map[string]any // nil where the values were read, and for a superseded signal
	columns []string
	values  []driver.Value // of columns
	set     *columnSet     // of the columns that insertRow wrote
	given   []any          // their values
	changes audit.Changes  // what an import gave a new record; see Import.created
}

// value returns a member, or the value of its column, or nil for null.
func (s *storedRow) value(member string) any {
	if s.values == nil {
		return s.members[member]
	}
	return s.values[slices.Index(s.columns, member)]
}

// text returns a member that is a text, or "" for null.
func (s *storedRow) text(member string) string {
	text, _ := s.value(member).(string)
	return text
}

// flag returns a member that is true or false.
func (s *storedRow) flag(member string) bool {
	value := s.value(member)
	return value == true || value == int64(1)
}

// readByID reads a record of the organisation; NotFound if there is none.
func readByID(tx *Tx, r *storedResource, id string) (storedRow, error) {
	row, err := readRecord(tx, r, "org_id = ? AND id = ?", tx.Org, id)
	return row, missingID(r, err)
}

// missingID explains NotFound to a caller who asked for an id.
func missingID(r *storedResource, err error) error {
	if Is(err, NotFound) {
		return &Error{Code: NotFound, Message: "no " + r.Type + " with this id in this organisation"}
	}
	return err
}

func readBySeq(tx *Tx, r *storedResource, seq int64) (storedRow, error) {
	return readRecord(tx, r, "seq = ?", seq)
}

// readRecord reads a record with all of its members; NotFound if there is none.
func readRecord(tx *Tx, r *storedResource, where string, args ...any) (storedRow, error) {
	var s storedRow
	var members []byte
	if err := tx.Row(r.selectRecord+where, args...).Scan(&s.seq, &s.id, &s.object, &members); err != nil {
		return s, StoreError(err)
	}
	if members == nil {
		return s, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(members))
	decoder.UseNumber() // a double would round large numbers
	return s, decoder.Decode(&s.members)
}

// readRow reads a row with the values of its columns; NotFound if there is none.
func readRow(tx *Tx, r *storedResource, query string, args ...any) (storedRow, error) {
	row, err := tx.First(query, args...)
	if err != nil {
		return storedRow{}, StoreError(err)
	}
	seq, _ := row[0].(int64)
	id, _ := row[1].(string)
	return storedRow{seq: seq, id: id, columns: tx.db.columns[r.Table], values: row[2:]}, nil
}

// insertRow adds a row and does not read it. isNew is false if unless, a unique set
// of columns, identifies another row.
func insertRow(tx *Tx, r *storedResource, record Record, unless []string) (made storedRow, isNew bool, err error) {
	if r.onInsert != nil {
		defer r.complete(tx.At(), record)()
	}
	made.id = idOf(tx, record)
	set := columnSetOf(tx, r, record)
	if set.members == nil {
		set.members = newMembers(tx.db, r, set)
	}
	args, err := set.row(make([]any, 0, set.width()), tx.Org, made.id, tx.At(), record)
	if err != nil {
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
	made.set, made.given = set, args[4:]
	if tx.importing != nil && made.seq != 0 && err == nil {
		made.changes = tx.importing.created(r, record, made)
	}
	return made, made.seq != 0, StoreError(err)
}

// idOf returns the id of a new record: its own or a new one.
func idOf(tx *Tx, record Record) string {
	if id, _ := record["id"].(string); id != "" {
		return id
	}
	return tx.NewID()
}

// complete adds the members of onInsert to a record. The function that it returns removes
// them.
func (r *storedResource) complete(at string, record Record) (remove func()) {
	added := r.onInsert(at, record)
	maps.Copy(record, added)
	return func() {
		for member := range added {
			delete(record, member)
		}
	}
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
	return readRow(tx, r, findersOf(tx, r).byKey, args...)
}

// finders are the statements that read a row of a resource for readRow.
type finders struct{ byKey, byID string }

func findersOf(tx *Tx, r *storedResource) *finders {
	known := tx.db.finders[r]
	if known == nil {
		begin := selectRow(tx.db, r) + " WHERE org_id = ? AND "
		known = &finders{byKey: begin + strings.Join(r.Key, " = ? AND ") + " = ?", byID: begin + "id = ?"}
		tx.db.finders[r] = known
	}
	return known
}

// selectRow returns the start of a statement for readRow.
func selectRow(d *DB, r *storedResource) string {
	return "SELECT seq, id, " + strings.Join(d.columns[r.Table], ", ") + " FROM " + r.Table
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
	args := make([]any, 0, 4+len(set.names))
	args, err := set.values(append(args, seq, stampOf(tx.At(), record, "updated_at"), tx.At(), tx.Org), record)
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
func stampOf(at string, record Record, member string) string {
	if text, ok := record[member].(string); ok {
		if own, err := time.Parse(time.RFC3339, text); err == nil {
			return Timestamp(own)
		}
	}
	return at
}

// readObject returns a record that was written as the API returns it.
func readObject(tx *Tx, w writtenRecord) ([]byte, error) {
	if w.row.object != nil {
		return w.row.object, nil
	}
	return objectBySeq(tx, w.resource, w.row.seq)
}

// objectBySeq reads a record as the API returns it.
func objectBySeq(tx *Tx, r *storedResource, seq int64) (object []byte, err error) {
	err = tx.Row(r.selectObject, seq).Scan(&object)
	return object, StoreError(err)
}

// columnSet has the statements for records with the same members.
type columnSet struct {
	resource *storedResource
	names    []string
	// insertUnless inserts nothing if the natural key exists
	insert, insertUnless, update string
	insertRows                   string      // see Preparer.setOf
	members                      []newMember // nil until it is needed
}

// settable reports whether a record's member sets the column. The others are set by
// the store.
func settable(column string) bool {
	switch column {
	case "seq", "org_id", "id", "created_at", "updated_at":
		return false
	}
	return true
}

// columnSetOf returns the statements for the members that a record has.
func columnSetOf(tx *Tx, r *storedResource, record Record) *columnSet {
	key := columnsIn(tx.db, r, record)
	sets := tx.db.columnSets
	if set := sets[key]; set != nil {
		return set
	}
	if len(sets) >= maxColumnSets {
		clear(sets)
	}
	set := newColumnSet(tx.db, r, key)
	sets[key] = set
	return set
}

// columnsIn returns the columns that a record's members set.
func columnsIn(d *DB, r *storedResource, record Record) columnSetKey {
	mask := uint64(0)
	for i, column := range d.columns[r.Table] {
		if _, present := record[column]; present && settable(column) {
			mask |= 1 << i
		}
	}
	return columnSetKey{r.Table, mask}
}

func newColumnSet(d *DB, r *storedResource, key columnSetKey) *columnSet {
	set := &columnSet{resource: r}
	for i, column := range d.columns[r.Table] {
		if key.mask&(1<<i) != 0 {
			set.names = append(set.names, column)
		}
	}
	set.prepare()
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
		numbers[i] = fmt.Sprintf("?%d", i+5)
		assigns[i] = name + " = " + numbers[i]
	}
	s.insert = "INSERT INTO " + r.Table + " (org_id, id, created_at, updated_at" + names + ") VALUES (?, ?, ?, ?" + marks + ")"
	s.insertUnless = s.insert + " ON CONFLICT (org_id, " + strings.Join(r.Key, ", ") + ") DO NOTHING"
	s.update = "UPDATE " + r.Table + " SET updated_at = iif(?2 > updated_at, ?2, ?3), " + strings.Join(assigns, ", ") +
		" WHERE seq = ?1 AND org_id = ?4 AND (" + strings.Join(s.names, ", ") + ") IS NOT (" + strings.Join(numbers, ", ") + ")"
}

// width returns the number of values of a new row.
func (s *columnSet) width() int { return 4 + len(s.names) }

// row appends the values of a new row to args, for insert.
func (s *columnSet) row(args []any, org Org, id, at string, record Record) ([]any, error) {
	args = append(args, org, id, stampOf(at, record, "created_at"), stampOf(at, record, "updated_at"))
	return s.values(args, record)
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

// newMember is a member of new records with the same columns.
type newMember struct {
	name  string
	begin string // the start of its change in an audit event, before the value
	at    int    // the index of its value in the values of the set, or a constant below
	value any    // of a default
}

// The values of newMember.at for members that are not columns of the set.
const (
	atDefault = -1
	atDerived = -2
)

// newMembers lists the members of a new record by name, including those that the
// table sets by default.
func newMembers(d *DB, r *storedResource, set *columnSet) []newMember {
	var all []newMember
	for i, column := range set.names {
		if !slices.Contains(r.Internal, column) {
			all = append(all, columnMember(column, i))
		}
	}
	for column, value := range d.defaults[r.Table] {
		if !slices.Contains(set.names, column) {
			member := columnMember(column, atDefault)
			member.value = value
			all = append(all, member)
		}
	}
	for _, member := range r.Derived {
		all = append(all, columnMember(member, atDerived))
	}
	slices.SortFunc(all, func(a, b newMember) int { return strings.Compare(a.name, b.name) })
	return all
}

// columnMember returns the member whose value is at an index of the values of the set.
func columnMember(name string, at int) newMember {
	return newMember{name: name, begin: string(audit.AppendText(nil, name)) + `:{"from":null,"to":`, at: at}
}

// valueIn returns a member's value in a new record, and whether the changes list it.
// They do not list null, as in the API's events.
func (s *columnSet) valueIn(m *newMember, record Record, values []any) (value any, listed bool) {
	switch m.at {
	case atDefault:
		return m.value, true
	case atDerived:
		return record[m.name], true
	}
	return s.resource.memberValue(m.name, values[m.at]), values[m.at] != nil
}

// changes returns the members of a new record as changes. values are those of the
// columns of the set.
func (s *columnSet) changes(record Record, values []any) audit.Changes {
	changes := make(audit.Changes, len(s.members))
	for i := range s.members {
		if value, listed := s.valueIn(&s.members[i], record, values); listed {
			changes[s.members[i].name] = audit.Change{To: value}
		}
	}
	return changes
}

// appendChanges appends the same changes as the JSON that the audit log stores.
func (s *columnSet) appendChanges(to []byte, record Record, values []any) []byte {
	separator := byte('{')
	for i := range s.members {
		value, listed := s.valueIn(&s.members[i], record, values)
		if !listed {
			continue
		}
		if long := audit.DigestOf(value); long != nil {
			value = long
		}
		to = append(append(to, separator), s.members[i].begin...)
		to = append(audit.AppendValue(to, value), '}')
		separator = ','
	}
	if separator == '{' {
		to = append(to, '{')
	}
	return append(to, '}')
}
