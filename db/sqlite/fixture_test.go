package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"govsvc/internal/testkit"
)

// options returns options for a file with a table of numbers.
func options(path string, wait time.Duration) Options {
	return Options{Path: path, ApplicationID: 0x74657374, Wait: wait, Prepare: createTable}
}

func createTable(ctx context.Context, d *DB) error {
	var exists bool
	if err := d.Lookups.Row(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'numbers')").Scan(&exists); err != nil || exists {
		return err
	}
	return d.Write(ctx, func(tx *Tx) error {
		_, err := tx.Exec("CREATE TABLE numbers (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT")
		return err
	})
}

func newPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "test.db")
}

// newFile opens a new file.
func newFile(t testing.TB) *DB {
	t.Helper()
	return openPath(t, newPath(t), time.Minute)
}

// openPath opens a file. Two of one file are like two processes.
func openPath(t testing.TB, path string, wait time.Duration) *DB {
	t.Helper()
	d, err := Open(t.Context(), options(path, wait))
	if err != nil {
		t.Fatal(err)
	}
	testkit.CloseAfter(t, d.Close)
	return d
}

// insert returns a write request that inserts a row.
func insert(name string) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Insert("INSERT INTO numbers (name) VALUES (?)", name)
		return err
	}
}

func add(ctx context.Context, d *DB, name string) error { return d.Write(ctx, insert(name)) }

// stored counts the rows of a file by their names.
func stored(t testing.TB, path string) map[string]int {
	t.Helper()
	return testkit.CountSQL(t, path, "SELECT name FROM numbers")
}
