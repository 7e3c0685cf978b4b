package sqlite

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

const threeNumbers = "SELECT value FROM json_each('[1, 2, 3]')"

// TestPool_Each ends at an error of the function, and at ErrStop without one.
func TestPool_Each(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	refused := errors.New("refused by the test")
	for _, row := range []struct {
		name      string
		err, want error
	}{{"an error", refused, refused}, {"stop", ErrStop, nil}} {
		for _, each := range []func(context.Context, func(Scanner) error, string, ...any) error{d.Lookups.Each, d.Searches.Each, d.Bulk.EachUncached} {
			read := 0
			err := each(t.Context(), func(row1 Scanner) error {
				if err := row1.Scan(&read); err != nil || read < 2 {
					return err
				}
				return row.err
			}, threeNumbers)
			if err != row.want || read != 2 { //nolint:errorlint // must not be wrapped
				t.Errorf("%s: %d rows, %v", row.name, read, err)
			}
		}
	}
	if n := len(d.Lookups.idle); n != 1 {
		t.Errorf("%d idle connections, want the same one for all", n)
	}
}

// TestPool_Failure closes a connection on which a statement failed or fn panicked.
func TestPool_Failure(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	for name, use := range map[string]func(){
		"a statement": func() {
			if err := d.Bulk.Row(t.Context(), "SELECT abs(-9223372036854775808)").Scan(new(any)); err == nil {
				t.Error("no error")
			}
		},
		"a panic": func() {
			defer func() { _ = recover() }()
			_ = d.Bulk.Each(t.Context(), func(Scanner) error { panic("of the test") }, threeNumbers)
		},
	} {
		use()
		if n := len(d.Bulk.idle); n != 0 {
			t.Errorf("%s: %d connections are kept", name, n)
		}
		if err := d.Bulk.Row(t.Context(), "SELECT 1").Scan(new(int)); err != nil {
			t.Errorf("%s: the next read: %v", name, err)
		}
	}
}

// TestPool_Interrupt ends a long statement with its context, and a wait for a
// connection.
func TestPool_Interrupt(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := d.Searches.Row(ctx, endless).Scan(new(int)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var hold func(more int) error
	hold = func(more int) error {
		return d.Bulk.Snapshot(ctx, func(*Snapshot) error {
			if more == 0 {
				return nil
			}
			return hold(more - 1)
		})
	}
	if err := hold(bulkAtOnce); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one read too many: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	read := 0
	err := d.Lookups.Each(ctx, func(Scanner) error {
		read++
		cancel()
		return nil
	}, threeNumbers)
	if !errors.Is(err, context.Canceled) || read != 1 {
		t.Errorf("%d rows, %v", read, err)
	}
}

// TestPool_EachRaw bounds the length of a text, and only for its own query.
func TestPool_EachRaw(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	const query = "SELECT replace(hex(zeroblob(?)), '00', 'x')"
	for _, row := range []struct {
		length int
		ok     bool
	}{{400, true}, {5000, false}, {400, true}} {
		var text string
		err := d.Frequent.EachRaw(t.Context(), 1000, func(found RawRow) error {
			text = string(found.Text(0))
			return nil
		}, query, row.length)
		if row.ok && (err != nil || text != strings.Repeat("x", row.length)) || !row.ok && !errors.Is(err, ErrTooLong) {
			t.Errorf("%d bytes: %q, %v", row.length, text, err)
		}
	}
	if err := d.Frequent.Row(t.Context(), query, 5000).Scan(new(string)); err != nil {
		t.Error(err)
	}
	none := func(RawRow) error { return nil }
	if err := d.Frequent.EachRaw(t.Context(), 1000, none, "SELECT nothing"); err == nil {
		t.Error("no error of a wrong query")
	}
	if err := d.Frequent.EachRaw(t.Context(), 1000, none, "SELECT abs(?)", int64(math.MinInt64)); err == nil || !strings.Contains(err.Error(), "(1)") {
		t.Errorf("an integer overflow: %v", err)
	}
}

// TestPool_EachRaw_Rows reads all rows, or stops early, with texts of any bytes and NULL.
func TestPool_EachRaw_Rows(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	const query = "SELECT value, iif(value = 2, NULL, ?) FROM (SELECT 1 AS value UNION ALL SELECT 2 UNION ALL SELECT 3)"
	const text = "a\x00\u540d\x1f"
	failed := errors.New("failed")
	for _, row := range []struct {
		stop error
		want string
		err  error
	}{
		{nil, "1=" + text + ";2=;3=" + text + ";", nil},
		{ErrStop, "1=" + text + ";", nil},
		{failed, "1=" + text + ";", failed},
	} {
		got := ""
		err := d.Frequent.EachRaw(t.Context(), 0, func(found RawRow) error {
			got += string(found.Text(0)) + "=" + string(found.Text(1)) + ";"
			return row.stop
		}, query, text)
		if got != row.want || !errors.Is(err, row.err) {
			t.Errorf("stopped with %v: %q, %v", row.stop, got, err)
		}
	}
	if err := d.Frequent.EachRaw(t.Context(), 0, func(RawRow) error { return nil }, query); err == nil {
		t.Error("no error of a missing argument")
	}
}

// TestPool_Snapshot sees the state at its first query. The same query may run within
// itself.
func TestPool_Snapshot(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	for _, name := range []string{"a", "b"} {
		if err := add(t.Context(), d, name); err != nil {
			t.Fatal(err)
		}
	}
	read := 0
	err := d.Bulk.Snapshot(t.Context(), func(s *Snapshot) error {
		const query = "SELECT name FROM numbers"
		return s.Each(t.Context(), func(Scanner) error {
			if err := add(t.Context(), d, strings.Repeat("c", read+1)); err != nil {
				return err
			}
			return s.Each(t.Context(), func(Scanner) error { read++; return nil }, query)
		}, query)
	})
	if err != nil || read != 4 {
		t.Errorf("%d rows, want 2 for each of 2: %v", read, err)
	}
	if n := len(stored(t, d.Path())); n != 4 {
		t.Errorf("%d rows are stored", n)
	}
}
