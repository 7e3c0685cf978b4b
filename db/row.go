package db

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"slices"
	"strings"

	"govsvc/db/audit"
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
	if Is(err, NotFound) {
		err = &Error{Code: NotFound, Message: "no " + r.Type + " with this id in this organisation"}
	}
	return row, err
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

// findStatement returns the statement that reads a row by its natural key.
func findStatement(tx *Tx, r *storedResource) string {
	finders := tx.db.finders
	query := finders[r]
	if query == "" {
		query = selectRow(tx.db, r) + " WHERE org_id = ? AND " + strings.Join(r.Key, " = ? AND ") + " = ?"
		finders[r] = query
	}
	return query
}

// selectRow returns the start of a statement for readRow.
func selectRow(d *DB, r *storedResource) string {
	return "SELECT seq, id, " + strings.Join(d.columns[r.Table], ", ") + " FROM " + r.Table
}

// readObject returns a record that was written as the API returns it.
func readObject(tx *Tx, w writtenRecord) (object []byte, err error) {
	if w.row.object != nil {
		return w.row.object, nil
	}
	err = tx.Row("SELECT resource FROM "+w.resource.Table+" WHERE seq = ?", w.row.seq).Scan(&object)
	return object, StoreError(err)
}
