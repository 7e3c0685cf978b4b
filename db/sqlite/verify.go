package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// VerifyTouched calls report for each row that a write changes without having declared it:
// the row's table, its owner, and the columns with another value. It compares what the
// footprints say with what SQLite changes. Tests use it.
func (d *DB) VerifyTouched(ctx context.Context, report func(problem string)) error {
	if _, err := d.DataVersion(); err != nil { // commits are attributed from now on
		return err
	}
	columns := map[string][]string{}
	err := d.Lookups.Each(ctx, func(row Scanner) error {
		var table, name string
		err := row.Scan(&table, &name)
		columns[table] = append(columns[table], name)
		return err
	}, `SELECT t.name, c.name FROM pragma_table_list t, pragma_table_xinfo(t.name) c
		WHERE t.schema = 'main' AND t.type = 'table' ORDER BY t.name, c.cid`)
	if err != nil {
		return err
	}
	d.writer.working.Lock()
	defer d.writer.working.Unlock()
	d.writer.conn.driver.(modernc.HookRegisterer).RegisterPreUpdateHook(func(data modernc.SQLitePreUpdateData) {
		names, known := columns[data.TableName]
		c := &d.writer.commits
		if !known || !c.tracking || c.touched.all {
			return
		}
		if problem := verifyRow(data, names, d.options.OwnerColumn, c.last); problem != "" {
			report(problem)
		}
	})
	return nil
}

// verifyRow returns what is wrong; "" if the statement declares the change of the row.
func verifyRow(data modernc.SQLitePreUpdateData, names []string, ownerColumn string, by touch) string {
	before, after := make([]any, len(names)), make([]any, len(names))
	var err error
	switch data.Op {
	case sqlite3.SQLITE_INSERT:
		err = data.New(after...)
		before = after
	case sqlite3.SQLITE_DELETE:
		err = data.Old(before...)
		after = before
	default:
		if err = data.Old(before...); err == nil {
			err = data.New(after...)
		}
	}
	if err != nil {
		return fmt.Sprintf("%s: %v", data.TableName, err)
	}
	for n, name := range names {
		if data.Op == sqlite3.SQLITE_UPDATE && fmt.Sprint(before[n]) == fmt.Sprint(after[n]) {
			continue
		}
		for _, row := range [][]any{before, after} {
			var owner Owner
			for at, name := range names {
				if name == ownerColumn {
					number, _ := row[at].(int64)
					owner = Owner(number)
				}
			}
			if !by.covers(strings.ToLower(data.TableName), name, owner, data.Op == sqlite3.SQLITE_UPDATE) {
				return fmt.Sprintf("operation %d on %s.%s of owner %d is not declared by %+v", data.Op, data.TableName, name, owner, by.owner)
			}
		}
	}
	return ""
}

// covers reports whether the statement writes a column of an owner's rows.
func (t touch) covers(table, name string, owner Owner, update bool) bool {
	return slices.ContainsFunc(t.footprint.writes, func(c column) bool {
		return c.table == table && (c.name == "" || update && c.name == name) && (!c.owned || t.owner == 0 || t.owner == owner)
	})
}
