package db

import (
	"database/sql/driver"
	"slices"

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

// value returns a member, or the value of its column; nil for null.
func (s *storedRow) value(member string) any {
	if s.values == nil {
		return s.members[member]
	}
	return s.values[slices.Index(s.columns, member)]
}

// text returns a member that is a text; "" for null.
func (s *storedRow) text(member string) string {
	text, _ := s.value(member).(string)
	return text
}

// flag returns a member that is true or false.
func (s *storedRow) flag(member string) bool {
	value := s.value(member)
	return value == true || value == int64(1)
}
