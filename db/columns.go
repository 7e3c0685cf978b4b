package db

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// columnValue returns what a column stores for a member's value.
func (r *storedResource) columnValue(column string, value any) (any, error) {
	switch value := value.(type) {
	case string:
		if slices.Contains(r.Instants, column) {
			at, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return nil, &Error{Code: Invalid, Param: column, Message: column + " must be an RFC 3339 timestamp"}
			}
			return Timestamp(at), nil
		}
		return value, nil
	case bool:
		if value {
			return 1, nil
		}
		return 0, nil
	case json.Number:
		return number(column, value)
	case map[string]any, []any:
		return compact(value), nil
	}
	return value, nil
}

// memberValue returns the member's value that a column stores.
func (r *storedResource) memberValue(column string, value any) any {
	switch value := value.(type) {
	case string:
		if slices.Contains(r.JSON, column) {
			return json.RawMessage(value)
		}
	case int:
		if slices.Contains(r.Booleans, column) {
			return value != 0
		}
	case int64:
		if slices.Contains(r.Booleans, column) {
			return value != 0
		}
	}
	return value
}

// number stores whole numbers as integers, so that 100 is not returned as 100.0.
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

// compact encodes a value that was decoded from JSON or that the store created.
func compact(v any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// sameValue compares a value with the one that a column stores, as SQLite's IS does.
func sameValue(given any, stored driver.Value) bool {
	switch given := given.(type) {
	case nil:
		return stored == nil
	case string:
		text, ok := stored.(string)
		return ok && text == given
	case int:
		return sameInteger(int64(given), stored)
	case int64:
		return sameInteger(given, stored)
	case float64:
		switch stored := stored.(type) {
		case float64:
			return given == stored
		case int64:
			return sameInteger(stored, given)
		}
	}
	return false
}

func sameInteger(given int64, stored driver.Value) bool {
	switch stored := stored.(type) {
	case int64:
		return given == stored
	case float64:
		const limit = 1 << 63 // int64 has no values beyond it
		return stored >= -limit && stored < limit && float64(int64(stored)) == stored && int64(stored) == given
	}
	return false
}

// columnSet has the statements for records with the same members.
type columnSet struct {
	resource *storedResource
	names    []string
	// insertUnless inserts nothing if the natural key exists
	insert, insertUnless, update string
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
	columns := tx.db.columns[r.Table]
	mask := uint64(0)
	for i, column := range columns {
		if _, present := record[column]; present && settable(column) {
			mask |= 1 << i
		}
	}
	sets := tx.db.columnSets
	key := columnSetKey{r.Table, mask}
	if set := sets[key]; set != nil {
		return set
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

// tableColumns reads the columns of each table, the generated ones aside, and what
// the tables of resources store by default for a member that a record may leave
// out.
func tableColumns(ctx context.Context, d *DB) (columns map[string][]string, defaults map[string]map[string]any, err error) {
	columns, defaults = map[string][]string{}, map[string]map[string]any{}
	resources := map[string]*storedResource{} // by table
	for _, r := range storedResources {
		resources[r.Table], defaults[r.Table] = r, map[string]any{}
	}
	err = d.Each(ctx, func(row Scanner) error {
		var table, column, value string
		err := row.Scan(&table, &column, &value)
		columns[table] = append(columns[table], column)
		if r := resources[table]; r != nil && value != "" && settable(column) && !slices.Contains(r.Internal, column) {
			defaults[table][column] = r.defaultValue(column, value)
		}
		return err
	}, `SELECT m.name, c.name, coalesce(c.dflt_value, '') FROM sqlite_schema m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' ORDER BY m.name, c.cid`)
	return columns, defaults, err
}

// defaultValue returns a default of the schema, a text in quotes or a whole
// number, as the member's value.
func (r *storedResource) defaultValue(column, literal string) any {
	if whole, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return r.memberValue(column, whole)
	}
	return r.memberValue(column, strings.Trim(literal, "'"))
}
