package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pressly/goose/v3"

	"govsvc/db"
	"govsvc/migrations"
)

// object is a table, index, trigger or view of a file.
type object struct{ kind, name string }

// schemaQuery reads the objects of a file. It leaves out those of SQLite, and the tables
// that Litestream adds.
const schemaQuery = `SELECT type, name, coalesce(sql, '') FROM sqlite_schema
	WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE '\_litestream\_%' ESCAPE '\'`

// SchemaFaults compares the tables, indexes, triggers and views of the file with
// those that the migrations make, up to the file's version. It returns one line
// for each object that is missing, differs or is not expected.
func (s *Service) SchemaFaults(ctx context.Context) ([]string, error) {
	have, err := s.store.File.KnownVersion(ctx)
	if err != nil {
		return nil, err
	}
	expected, err := expectedSchema(ctx, have)
	if err != nil {
		return nil, fmt.Errorf("the expected schema of version %d: %w", have, err)
	}
	present := map[object]string{}
	if err := s.store.Each(ctx, intoSchema(present), schemaQuery); err != nil {
		return nil, err
	}
	var faults []string
	for o, text := range expected {
		found, ok := present[o]
		switch {
		case !ok:
			faults = append(faults, fmt.Sprintf("%s %s is missing", o.kind, o.name))
		case found != text:
			faults = append(faults, fmt.Sprintf("%s %s is not defined as in version %d", o.kind, o.name, have))
		}
	}
	for o := range maps.Keys(present) {
		if _, ok := expected[o]; !ok {
			faults = append(faults, fmt.Sprintf("%s %s is not expected", o.kind, o.name))
		}
	}
	slices.Sort(faults)
	return faults, nil
}

func intoSchema(schema map[object]string) func(db.Scanner) error {
	return func(row db.Scanner) error {
		var o object
		var text string
		err := row.Scan(&o.kind, &o.name, &text)
		schema[o] = text
		return err
	}
}

// expectedSchema returns the schema of a version. It runs the migrations on a database
// in memory.
func expectedSchema(ctx context.Context, version int) (schema map[object]string, err error) {
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(1) // each connection has another file
	provider, err := goose.NewProvider(goose.DialectSQLite3, pool, migrations.Files)
	if err != nil {
		return nil, err
	}
	if _, err := provider.UpTo(ctx, int64(version)); err != nil {
		return nil, err
	}
	rows, err := pool.QueryContext(ctx, schemaQuery)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	schema = map[object]string{}
	for rows.Next() {
		if err := intoSchema(schema)(rows); err != nil {
			return nil, err
		}
	}
	return schema, rows.Err()
}
