package testkit

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
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

// ExecSQL runs statements on a data file beside the store, on one connection.
func ExecSQL(t testing.TB, path string, statements ...string) {
	t.Helper()
	file := OpenSQL(t, path)
	defer file.Close() //nolint:errcheck // each statement was checked
	file.SetMaxOpenConns(1)
	for _, statement := range statements {
		if _, err := file.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", statement, err))
		}
	}
}

// QuerySQL runs a query of one column on a data file beside the store and returns the
// values as texts. It also works in the cleanup of a test.
func QuerySQL(t testing.TB, path, query string) []string {
	t.Helper()
	file := OpenSQL(t, path)
	defer file.Close() //nolint:errcheck // the result was read
	rows, err := file.QueryContext(context.WithoutCancel(t.Context()), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	values := []string{}
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

// CountSQL runs a query like QuerySQL, and returns how many rows have each value.
func CountSQL(t testing.TB, path, query string) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, value := range QuerySQL(t, path, query) {
		count[value]++
	}
	return count
}

// ExplainSQL returns the plan of a query on a data file, with one step on each line.
func ExplainSQL(t testing.TB, path, query string, args ...any) string {
	t.Helper()
	rows, err := OpenSQL(t, path).QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

var scanned = regexp.MustCompile(`SCAN (\w+)`)

// CheckPlan reports an error unless the plan of a query contains a text and neither scans
// a table nor sorts. It may scan the rows of a co-routine.
func CheckPlan(t testing.TB, path, want, query string, args ...any) {
	t.Helper()
	plan := ExplainSQL(t, path, query, args...)
	good := strings.Contains(plan, want) && !strings.Contains(plan, "TEMP B-TREE")
	for _, scan := range scanned.FindAllStringSubmatch(plan, -1) {
		good = good && strings.Contains(plan, "CO-ROUTINE "+scan[1]+"\n")
	}
	if !good {
		t.Errorf("got the plan\n%swant %q, no scan and no sort, for\n%s", plan, want, query)
	}
}
