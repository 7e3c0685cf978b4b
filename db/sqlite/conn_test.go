package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
)

func openConn(t *testing.T) (*DB, *conn) {
	t.Helper()
	d := newFile(t)
	c, err := d.connect(t.Context(), "rw")
	if err != nil {
		t.Fatal(err)
	}
	testkit.CloseAfter(t, c.close)
	return d, c
}

// databaseSQL opens the file with database/sql, to compare with.
func databaseSQL(t *testing.T, d *DB) *sql.DB {
	t.Helper()
	pool, err := sql.Open("sqlite", d.dsn("ro"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

// number and name are types that a caller reads columns into.
type (
	number int64
	name   string
)

// TestConn_Arguments binds and reads the same values as database/sql.
func TestConn_Arguments(t *testing.T) {
	t.Parallel()
	d, conn := openConn(t)
	reference := databaseSQL(t, d)
	text, none, whole := "t\x00ext", (*string)(nil), 7
	for _, arg := range []any{
		nil, 1, int64(-1 << 63), uint8(3), 1.5, true, false, "", text, &text, none, &whole,
		[]byte(nil),
		[]byte{},
		[]byte{0, 255},
		json.RawMessage("{}"), json.Number("12"), number(9), name("n"),
		time.Second,
		uint64(1) << 63,
		[]string{"a"},
		map[string]any{},
		struct{}{},
		1i,
	} {
		const query = "SELECT ?1, typeof(?1)"
		var want, got [2]any
		wrong := reference.QueryRowContext(t.Context(), query, arg).Scan(&want[0], &want[1])
		err := conn.Row(query, arg).Scan(&got[0], &got[1])
		if (err == nil) != (wrong == nil) {
			t.Errorf("%T: %v, database/sql %v", arg, err, wrong)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-database/sql +got):\n%s", arg, diff)
		}
	}
	// the driver stores a text with the name of the zone
	if err := conn.Row("SELECT ?", time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)).Scan(new(any)); err == nil {
		t.Error("a time.Time is stored")
	}
}

// TestScan reads a value as database/sql does, or refuses it. No value changes.
func TestScan(t *testing.T) {
	t.Parallel()
	d, conn := openConn(t)
	reference := databaseSQL(t, d)
	into := map[string]func() any{
		"string": func() any { return new(string) }, "int": func() any { return new(int) }, "int64": func() any { return new(int64) },
		"int8": func() any { return new(int8) }, "bool": func() any { return new(bool) }, "bytes": func() any { return new([]byte) },
		"any": func() any { return new(any) }, "*string": func() any { return new(*string) }, "*int": func() any { return new(*int) },
		"number": func() any { return new(number) }, "name": func() any { return new(name) }, "float": func() any { return new(float64) },
		"*float": func() any { return new(*float64) },
	}
	// the types that each value fits; the others are refused
	for value, fits := range map[string]string{
		"NULL":  "bytes any *string *int *float",
		"'a'":   "string bytes any *string name",
		"''":    "string bytes any *string name",
		"x'ff'": "string bytes any *string name",
		"x''":   "string bytes any *string name",
		"0":     "int int64 int8 bool any *int number float *float",
		"1":     "int int64 int8 bool any *int number float *float",
		"300":   "int int64 any *int number float *float",
		"1.5":   "any float *float",
	} {
		for name, fresh := range into {
			want, got := fresh(), fresh()
			err := conn.Row("SELECT " + value).Scan(got)
			if !strings.Contains(" "+fits+" ", " "+name+" ") {
				if err == nil {
					t.Errorf("%s is read as a %s: %v", value, name, got)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s as a %s: %v", value, name, err)
			}
			if err := reference.QueryRowContext(t.Context(), "SELECT "+value).Scan(want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s as a %s (-database/sql +got):\n%s", value, name, diff)
			}
		}
	}
	if err := conn.Row("SELECT 1, 2").Scan(new(int)); err == nil {
		t.Error("a row of two columns is read as one")
	}
	if err := conn.Row("SELECT 1").Scan(1); err == nil {
		t.Error("a value is read into a type that is no pointer")
	}
}

// TestConn_StatementEnds ends the reading of a result in different ways. The statement
// can run again, and blocks neither a commit nor a checkpoint.
func TestConn_StatementEnds(t *testing.T) {
	t.Parallel()
	d, conn := openConn(t)
	const numbers, one = "SELECT value FROM json_each('[1, 2, 3]')", "SELECT count(*) FROM numbers WHERE number > ?"
	failed := errors.New("by the test")
	for _, row := range []struct {
		name string
		want error
		do   func() error
	}{
		{"all rows", nil, func() error { return conn.Each(func(Scanner) error { return nil }, numbers) }},
		{"a failure", failed, func() error { return conn.Each(func(Scanner) error { return failed }, numbers) }},
		{"a panic", failed, func() (err error) {
			defer func() { err, _ = recover().(error) }()
			return conn.Each(func(Scanner) error { panic(failed) }, numbers)
		}},
		{"the first row of several", nil, func() error { return conn.Row(numbers).Scan(new(int)) }},
		{"a row not read", nil, func() error { conn.Row(numbers); return nil }},
		{"no row", sql.ErrNoRows, func() error { return conn.Row("SELECT number FROM numbers WHERE number = ?", -1).Scan(new(int)) }},
		{"a row within a row", nil, func() error {
			return conn.Each(func(row Scanner) error {
				var n int
				if err := row.Scan(&n); err != nil {
					return err
				}
				return conn.Row(one, 0).Scan(&n)
			}, numbers)
		}},
	} {
		if _, err := conn.Exec("BEGIN IMMEDIATE"); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if _, err := conn.Exec("INSERT INTO numbers (name) VALUES (?)", row.name); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		for range 2 {
			if err := row.do(); !errors.Is(err, row.want) {
				t.Errorf("%s: %v, want %v", row.name, err, row.want)
			}
		}
		if _, err := conn.Exec("COMMIT"); err != nil {
			t.Errorf("%s: commit: %v", row.name, err)
		}
		if err := d.Checkpoint(t.Context()); err != nil || d.LogSize() != 0 {
			t.Errorf("%s: the log has %d bytes: %v", row.name, d.LogSize(), err)
		}
	}
}

// TestConn_StatementFails reports a failure in preparing, running or reading a
// statement. The statement can run again.
func TestConn_StatementFails(t *testing.T) {
	t.Parallel()
	_, conn := openConn(t)
	for _, query := range []string{
		"SELECT nothing FROM nowhere", "SELECT ?", "SELECT abs(-9223372036854775808)",
		"SELECT abs(iif(value = 3, -9223372036854775808, 1)) FROM json_each('[1, 2, 3]')", // at its third row
		"INSERT INTO numbers DEFAULT VALUES RETURNING number",
	} {
		for range 2 {
			if _, err := conn.Exec(query); err == nil {
				t.Errorf("exec of %s", query)
			}
			if err := conn.Each(func(Scanner) error { return nil }, query); err == nil {
				t.Errorf("each of %s", query)
			}
			if err := conn.Row(query).Scan(new(any)); err == nil && !strings.Contains(query, "json_each") {
				t.Errorf("row of %s", query)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := conn.runOnce(ended, "PRAGMA user_version = 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("a pragma after the end: %v", err)
	}
}

// TestConn_CacheBound bounds the cached statements. None is closed while its result is
// being read.
func TestConn_CacheBound(t *testing.T) {
	t.Parallel()
	_, conn := openConn(t)
	ask := func(n int) {
		t.Helper()
		var got int
		if err := conn.Row(fmt.Sprint("SELECT ", n)).Scan(&got); err != nil || got != n {
			t.Errorf("%d is read as %d: %v", n, got, err)
		}
	}
	read := 0
	err := conn.Each(func(Scanner) error {
		read++
		for n := range maxStatements {
			ask(read*maxStatements + n)
		}
		return nil
	}, "SELECT value FROM json_each('[1, 2, 3]')")
	if err != nil || read != 3 {
		t.Errorf("%d rows of 3 are read: %v", read, err)
	}
	for n := range 2 * maxStatements {
		ask(-n)
	}
	if got := len(conn.statements); got > maxStatements {
		t.Errorf("%d statements are cached", got)
	}
}
