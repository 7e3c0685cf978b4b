package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// VerifyTouched calls report for each row that a write changes without having declared it:
// the row's table, its owner, and the columns with another value. It compares what the
// footprints say with what SQLite changes. Tests use it.
func (d *DB) VerifyTouched(ctx context.Context, report func(problem string)) error {
	// Commits are attributed from now on.
	if _, err := d.DataVersion(); err != nil { //nolint:contextcheck // its connection outlives the call
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
	d.writer.conn.beforeChanges(func(change rowChange) {
		names, known := columns[change.table]
		c := &d.writer.commits
		if !known || !c.tracking || c.touched.all {
			return
		}
		if problem := verifyRow(change, names, d.options.OwnerColumn, c.last); problem != "" {
			report(problem)
		}
	})
	return nil
}

// verifyRow returns what is wrong; "" if the statement declares the change of the row.
func verifyRow(change rowChange, names []string, ownerColumn string, by touch) string {
	update := change.operation == sqlite3.SQLITE_UPDATE
	before, after := change.before, change.after
	switch change.operation {
	case sqlite3.SQLITE_INSERT:
		before = after
	case sqlite3.SQLITE_DELETE:
		after = before
	}
	for n, name := range names {
		if n >= len(before) {
			break // a column that is not stored
		}
		if update && fmt.Sprint(before[n]) == fmt.Sprint(after[n]) {
			continue
		}
		for _, row := range []Values{before, after} {
			var owner Owner
			for at, name := range names {
				if name == ownerColumn && at < len(row) {
					number, _ := row[at].(int64)
					owner = Owner(number)
				}
			}
			if !by.covers(strings.ToLower(change.table), name, owner, update) {
				return fmt.Sprintf("operation %d on %s.%s of owner %d is not declared by %+v", change.operation, change.table, name, owner, by.owner)
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

// rowChange is a change of a row that SQLite is about to make.
type rowChange struct {
	operation     int32 // SQLITE_INSERT, SQLITE_DELETE or SQLITE_UPDATE
	table         string
	before, after Values // nil where there is no such row
}

// beforeHooks are the functions of beforeChanges, by their connection.
var beforeHooks sync.Map

// beforeChanges calls fn before each change of a row by this connection.
func (c *conn) beforeChanges(fn func(rowChange)) {
	beforeHooks.Store(c.handle, fn)
	sqlite3.Xsqlite3_preupdate_hook(c.tls, c.handle, addressOf(beforeChange), c.handle)
}

// beforeChange is SQLite's pre-update hook.
func beforeChange(tls *libc.TLS, _, handle uintptr, operation int32, _, table uintptr, _, _ int64) {
	fn, ok := beforeHooks.Load(handle)
	if !ok {
		return
	}
	change := rowChange{operation: operation, table: libc.GoString(table)}
	count := sqlite3.Xsqlite3_preupdate_count(tls, handle)
	value := tls.Alloc(pointerSize)
	defer tls.Free(pointerSize)
	for at := range count {
		if operation != sqlite3.SQLITE_INSERT {
			sqlite3.Xsqlite3_preupdate_old(tls, handle, at, value)
			change.before = append(change.before, valueOf(tls, *as[*uintptr](value)))
		}
		if operation != sqlite3.SQLITE_DELETE {
			sqlite3.Xsqlite3_preupdate_new(tls, handle, at, value)
			change.after = append(change.after, valueOf(tls, *as[*uintptr](value)))
		}
	}
	fn.(func(rowChange))(change)
}
