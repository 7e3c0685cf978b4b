package testkit

import (
	"database/sql"
	"fmt"
	"testing"
)

// OpenSQL opens a data file beside the store, as another process does.
func OpenSQL(t testing.TB, path string) *sql.DB {
	t.Helper()
	file, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// ExecSQL runs statements on a data file beside the store.
func ExecSQL(t testing.TB, path string, statements ...string) {
	t.Helper()
	file := OpenSQL(t, path)
	defer file.Close() //nolint:errcheck // each statement was checked
	for _, statement := range statements {
		if _, err := file.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", statement, err))
		}
	}
}

// CountSQL runs a query of one column on a data file beside the store. It returns how
// many rows have each value.
func CountSQL(t testing.TB, path, query string) map[string]int {
	t.Helper()
	rows, err := OpenSQL(t, path).QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	count := map[string]int{}
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		count[value]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return count
}
