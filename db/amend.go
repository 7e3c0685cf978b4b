package db

import (
	"context"
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"

	"govsvc/db/audit"
	"govsvc/db/sqlite"
)

// amend gives a known record the members that are present and differ. It reads
// nothing: the row's values come with it. See replace for updated_at.
func amend(tx *Tx, r *storedResource, known storedRow, record Record) (PutResult, error) {
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
	return done, r.written(tx, writtenRecord{resource: r, outcome: Updated, record: record, before: known, row: storedRow{seq: known.seq, id: known.id}})
}

// sameValue compares what a column is to hold with what it holds, as SQLite's
// IS does.
func sameValue(given any, held driver.Value) bool {
	switch given := given.(type) {
	case nil:
		return held == nil
	case string:
		text, ok := held.(string)
		return ok && text == given
	case int:
		return sameWhole(int64(given), held)
	case int64:
		return sameWhole(given, held)
	case float64:
		switch held := held.(type) {
		case float64:
			return given == held
		case int64:
			return sameWhole(held, given)
		}
	}
	return false
}

func sameWhole(whole int64, held driver.Value) bool {
	switch held := held.(type) {
	case int64:
		return whole == held
	case float64:
		const limit = 1 << 63 // outside of it there is no int64 to compare with
		return held >= -limit && held < limit && float64(int64(held)) == held && int64(held) == whole
	}
	return false
}

// readRow reads a row: its seq, its id and the values of its columns. A row that
// is not there is NotFound.
func readRow(tx *Tx, r *storedResource, query string, args ...any) (storedRow, error) {
	row, err := tx.First(query, args...)
	if err != nil {
		return storedRow{}, StoreError(err)
	}
	seq, _ := row[0].(int64)
	id, _ := row[1].(string)
	return storedRow{seq: seq, id: id, columns: tx.db.columns[r.Table], values: row[2:]}, nil
}

// findStatement is the statement that reads a row by its natural key.
func findStatement(tx *Tx, r *storedResource) string {
	finders := tx.db.finders
	query := finders[r]
	if query == "" {
		query = selectRow(tx.db, r) + " WHERE org_id = ? AND " + strings.Join(r.Key, " = ? AND ") + " = ?"
		finders[r] = query
	}
	return query
}

// selectRow is the beginning of a statement for readRow.
func selectRow(d *DB, r *storedResource) string {
	return "SELECT seq, id, " + strings.Join(d.columns[r.Table], ", ") + " FROM " + r.Table
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
