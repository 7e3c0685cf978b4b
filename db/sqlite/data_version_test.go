package sqlite

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/internal/testkit"
)

// versionOf returns the data version, which must be known.
func versionOf(t testing.TB, d *DB) int64 {
	t.Helper()
	n, err := d.DataVersion()
	if n == 0 || err != nil {
		t.Fatalf("version %d, %v", n, err)
	}
	return n
}

// mapped fails the test if the versions are not read from memory.
func mapped(t testing.TB, d *DB) *walIndex {
	t.Helper()
	versionOf(t, d)
	if d.versions.index == nil {
		t.Fatal("the log's index is not mapped")
	}
	return d.versions.index
}

// TestDataVersion grows with a commit of this process or of another one, and with nothing
// else. Without a mapping it may also grow otherwise.
func TestDataVersion(t *testing.T) {
	t.Parallel()
	for _, mapping := range []bool{true, false} {
		path := newPath(t)
		d, other := openPath(t, path, time.Minute), openPath(t, path, time.Minute)
		mapped(t, d)
		if !mapping {
			d.versions.index = nil
		}
		last := versionOf(t, d)
		for name, step := range map[string]struct {
			run   func() error
			grows bool
		}{
			"nothing":   {func() error { return nil }, false},
			"a commit":  {func() error { return add(t.Context(), d, "own") }, true},
			"another's": {func() error { return add(t.Context(), other, "another's") }, true},
			"a transaction without a change": {func() error {
				return d.Write(t.Context(), func(tx *Tx) error { return tx.Row("SELECT 1").Scan(new(int)) })
			}, false},
			"a refused change": {func() error {
				if err := d.Write(t.Context(), func(tx *Tx) error {
					if err := insert("refused")(tx); err != nil {
						return err
					}
					return os.ErrInvalid
				}); err != os.ErrInvalid { //nolint:errorlint // must not be wrapped
					return err
				}
				return nil
			}, false},
		} {
			if err := step.run(); err != nil {
				t.Fatal(err)
			}
			if n := versionOf(t, d); (n > last) != step.grows {
				t.Errorf("mapping %v, %s: %d became %d", mapping, name, last, n)
			} else {
				last = n
			}
		}
	}
}

// TestDataVersion_Repair leaves one copy of the header changed, as a process does that ends
// within a commit. The next look makes SQLite repair the index.
func TestDataVersion_Repair(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	index := mapped(t, d)
	last := versionOf(t, d)
	for _, damage := range []func(){
		func() { index[1][1]++ },
		func() { index[0][2]++ },
		func() { index[0], index[1] = walHeader{}, walHeader{} },
		func() { index[0][5]++; index[1][5]++ },
	} {
		damage()
		if n := versionOf(t, d); n <= last {
			t.Errorf("%d became %d", last, n)
		} else {
			last = n
		}
		if err := add(t.Context(), d, strings.Repeat("x", int(last))); err != nil {
			t.Error(err)
		}
		if _, ok := index.read(); !ok {
			t.Error("the index was not repaired")
		}
		last = versionOf(t, d)
	}
}

// TestDataVersion_Damage returns no version while a writer keeps SQLite from repairing the
// index. A look waits for the repair then, as every read of SQLite does.
func TestDataVersion_Damage(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	index := mapped(t, d)
	before := versionOf(t, d)
	err := d.Write(t.Context(), func(*Tx) error {
		atomic.AddUint64(&index[1][1], 1)
		looked := make(chan int64, 1)
		go func() {
			n, _ := d.DataVersion()
			looked <- n
		}()
		select {
		case n := <-looked:
			t.Errorf("version %d of a damaged index", n)
		case <-time.After(100 * time.Millisecond):
			atomic.AddUint64(&index[1][1], ^uint64(0))
			if n := <-looked; n <= before {
				t.Errorf("%d became %d", before, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOwnCommits_Another commits through another connection at each moment of a commit
// of the writer. What was read before is not valid, although the writer changed none of
// it.
func TestOwnCommits_Another(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"before", "after the commit", "never"} {
		path := newPath(t)
		d, other := openPath(t, path, time.Minute), openPath(t, path, time.Minute)
		mapped(t, d)
		if err := add(t.Context(), d, "first"); err != nil { // so that the writer knows its header
			t.Fatal(err)
		}
		version := versionOf(t, d)
		ctx, reads := d.Record(t.Context(), version)
		if err := d.Lookups.Row(ctx, "SELECT count(*) FROM json_each('[]')").Scan(new(int)); err != nil {
			t.Fatal(err)
		}
		commit := func(at string) {
			if at == moment {
				if err := add(t.Context(), other, "another's"); err != nil {
					t.Error(err)
				}
			}
		}
		w := &d.writer
		commit("before")
		if err := w.begin(); err != nil {
			t.Fatal(err)
		}
		w.trackCommit()
		if _, err := w.conn.Exec("INSERT INTO numbers (name) VALUES ('own')"); err != nil {
			t.Fatal(err)
		}
		w.conn.observe = nil
		w.db.versions.suspend()
		if err := w.do("COMMIT"); err != nil {
			t.Fatal(err)
		}
		if n, err := d.DataVersion(); n != 0 || err != nil {
			t.Errorf("version %d of a commit that is not attributed, %v", n, err)
		}
		commit("after the commit")
		w.attribute(true)
		if valid := reads.Valid(versionOf(t, d)); valid != (moment == "never") {
			t.Errorf("another commit %s: valid %v", moment, valid)
		}
		if n := len(stored(t, path)); n < 2 {
			t.Errorf("%d rows", n)
		}
	}
}

// TestReads_None: a record without a statement depends on every commit, because the
// statements may have run with another context.
func TestReads_None(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	mapped(t, d)
	_, reads := d.Record(t.Context(), versionOf(t, d))
	if !reads.Valid(versionOf(t, d)) {
		t.Error("not valid before a commit")
	}
	if err := add(t.Context(), d, "a"); err != nil {
		t.Fatal(err)
	}
	if reads.Valid(versionOf(t, d)) {
		t.Error("valid after a commit")
	}
}

// TestWatch reports commits once.
func TestWatch(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d, other := openPath(t, path, time.Minute), openPath(t, path, time.Minute)
	w, err := d.Watch()
	if err != nil {
		t.Fatal(err)
	}
	for i, writer := range []*DB{d, other, nil} {
		if writer != nil {
			if err := add(t.Context(), writer, strings.Repeat("x", i+1)); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []bool{writer != nil, false} {
			if changed, err := w.Changed(); changed != want || err != nil {
				t.Errorf("writer %d: changed %v, %v; want %v", i, changed, err, want)
			}
		}
	}
}

// TestDataVersion_Close: a look during and after Close returns, and leaves no file.
func TestDataVersion_Close(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	versionOf(t, d)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := d.DataVersion(); err != nil {
				return
			}
		}
	}()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	<-done
	if left := testkit.FileNames(t, strings.TrimSuffix(d.Path(), "test.db")); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
