package sqlite

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Owner is the owner of rows. An argument of this type says that a statement reads and
// writes rows of this owner only, as far as a table has the column Options.OwnerColumn.
type Owner int64

// footprint is what a statement reads and writes, as reported by SQLite's authorizer:
// also by its views, triggers and foreign keys.
type footprint struct {
	reads, writes []column
	// readsMore and writesMore report other uses than of a table's columns: of a virtual
	// table, a pragma or the schema.
	readsMore, writesMore bool
}

// column is a column of a table. The name "" is the whole row.
type column struct {
	table, name string
	owned       bool // the table has the column of the owner
}

// footprints finds the footprints of statements, and keeps them by the statements' texts.
type footprints struct {
	db *DB
	// stale says that another connection has committed since the schema was checked.
	stale atomic.Bool
	// generation grows when the schema changes.
	generation atomic.Int64

	mutex  sync.Mutex
	schema int64 // its version
	tables map[string]tableKind
	// replaces says that a table or a trigger replaces rows.
	replaces bool
	known    map[string]*footprint
}

// tableKind is what a footprint depends on.
type tableKind struct {
	kind      string // table, view, virtual or shadow
	generated bool   // some columns are computed from others
	owned     bool   // it has the column of the owner
	joined    bool   // a view that reads columns without reporting them; see joinedColumns
}

// SQLite does not report the columns of a join by name, nor the rows that it deletes to
// replace them.
var (
	joinedColumns = regexp.MustCompile(`(?i)\b(natural|using)\b`)
	replacedRows  = regexp.MustCompile(`(?i)\b(or|conflict)\s+replace\b`)
)

// maxFootprints bounds the footprints that are kept.
const maxFootprints = 2000

// unknownFootprint is that of a statement that can't be analysed.
var unknownFootprint = &footprint{readsMore: true, writesMore: true}

// of returns the footprint of a statement.
func (f *footprints) of(n *inspector, query string) *footprint {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := f.checkSchema(n); err != nil {
		return unknownFootprint
	}
	if known := f.known[query]; known != nil {
		return known
	}
	used, err := n.analyse(query)
	if err != nil {
		return unknownFootprint // a later one may succeed
	}
	if len(f.known) >= maxFootprints {
		clear(f.known)
	}
	found := f.footprintOf(used)
	found.readsMore = found.readsMore || joinedColumns.MatchString(query)
	if f.replaces || replacedRows.MatchString(query) {
		for n := range found.writes {
			found.writes[n].name, found.writes[n].owned = "", false
		}
	}
	f.known[query] = found
	return found
}

// checkSchema drops the footprints if the schema has changed.
func (f *footprints) checkSchema(n *inspector) error {
	if f.tables != nil && !f.stale.Load() {
		return nil
	}
	f.stale.Store(false) // before the version is read, which is then at least as new
	schema, err := n.number("PRAGMA schema_version")
	if err == nil && (f.tables == nil || schema != f.schema) {
		// Only a statement that runs makes the connection load the new schema.
		if _, err = n.number("SELECT count(*) FROM sqlite_schema"); err == nil {
			err = f.readTables()
		}
	}
	if err != nil {
		f.stale.Store(true)
		return err
	}
	f.schema = schema
	return nil
}

// readTables reads the tables of the schema and drops all footprints.
func (f *footprints) readTables() error {
	tables, replaces := map[string]tableKind{}, false
	// The caller may hold a connection of a pool, so this one is not of a pool.
	c, err := f.db.connect(background, "ro")
	if err != nil {
		return err
	}
	defer c.close() //nolint:errcheck // it only reads
	err = c.Each(func(row Scanner) error {
		var name, text string
		var of tableKind
		err := row.Scan(&name, &of.kind, &of.generated, &of.owned, &text)
		of.joined = of.kind == "view" && joinedColumns.MatchString(text)
		tables[strings.ToLower(name)] = of
		replaces = replaces || replacedRows.MatchString(text)
		return err
	}, `SELECT t.name, t.type, EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name) WHERE hidden > 1),
		EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name) WHERE name = ?),
		(SELECT coalesce(group_concat(sql, char(10)), '') FROM sqlite_schema WHERE tbl_name = t.name)
		FROM pragma_table_list t WHERE t.schema = 'main'`, f.db.options.OwnerColumn)
	if err == nil {
		f.tables, f.replaces, f.known = tables, replaces, map[string]*footprint{}
		f.generation.Add(1)
	}
	return err
}

// access is one use of a column, as SQLite reports it.
type access struct {
	action        int32
	table, column string
	schema        string
}

// variableFunctions return something else at another time or on another connection.
var variableFunctions = strings.Fields(`random randomblob date time datetime julianday unixepoch strftime timediff
	current_date current_time current_timestamp changes total_changes last_insert_rowid`)

// footprintOf makes a footprint of what SQLite reports.
func (f *footprints) footprintOf(used map[access]bool) *footprint {
	found := &footprint{}
	reads, writes := map[column]bool{}, map[column]bool{}
	for one := range used {
		name := strings.ToLower(one.table)
		of, isKnown := f.tables[name]
		at := column{table: name, name: one.column, owned: of.owned}
		if of.generated {
			at.name = "" // a change of a column also changes those that are computed from it
		}
		switch one.action {
		case sqlite3.SQLITE_FUNCTION:
			found.readsMore = found.readsMore || slices.Contains(variableFunctions, strings.ToLower(one.column))
		case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT:
		case sqlite3.SQLITE_READ:
			switch {
			case of.joined:
				found.readsMore = true
			case of.kind == "view", name == "json_each", name == "json_tree": // their tables are reported, too
			case of.kind == "table" && (one.schema == mainSchema || one.schema == "") && !strings.HasPrefix(name, "sqlite_"):
				// the schema is as in the statement if no column of the table is read
				reads[at] = true
			default:
				found.readsMore = true
			}
		case sqlite3.SQLITE_INSERT, sqlite3.SQLITE_DELETE:
			at.name = ""
			fallthrough
		case sqlite3.SQLITE_UPDATE:
			if one.column == f.db.options.OwnerColumn {
				at.owned = false // the row had another owner
			}
			if one.column == "ROWID" {
				at.name = "" // a read reports the column's own name
			}
			writes[at] = true
			found.writesMore = found.writesMore || !isKnown || one.schema != mainSchema
		default:
			found.readsMore, found.writesMore = true, true
		}
	}
	for at := range maps.Keys(reads) {
		found.reads = append(found.reads, at)
	}
	for at := range maps.Keys(writes) {
		found.writes = append(found.writes, at)
	}
	return found
}

// analyses are the statements that are being prepared, by their connection: each use
// of a column.
var analyses sync.Map

// analyse prepares a statement and returns what it would use.
func (i *inspector) analyse(query string) (map[access]bool, error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.closed {
		return nil, ErrClosed
	}
	c, used := i.conn, map[access]bool{}
	analyses.Store(c.handle, used)
	defer analyses.Delete(c.handle)
	sqlite3.Xsqlite3_set_authorizer(c.tls, c.handle, addressOf(authorize), c.handle)
	defer sqlite3.Xsqlite3_set_authorizer(c.tls, c.handle, 0, 0)
	s, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	s.finalize()
	return used, nil
}

// authorize is SQLite's authorizer: it records each use and allows it.
func authorize(_ *libc.TLS, handle uintptr, action int32, first, second, schema, _ uintptr) int32 {
	if used, ok := analyses.Load(handle); ok {
		used.(map[access]bool)[access{action, libc.GoString(first), libc.GoString(second), libc.GoString(schema)}] = true
	}
	return sqlite3.SQLITE_OK
}
