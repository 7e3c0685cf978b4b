package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/internal/testkit"
)

// TestOpen_Mode checks that only the owner can use the file and the files beside it.
func TestOpen_Mode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	d := newFile(t)
	if err := add(t.Context(), d, "a"); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(d.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", suffix, mode)
		}
	}
}

// TestOpen_Refused checks that Open refuses a path that has no file of this program, and
// changes nothing there.
func TestOpen_Refused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		make func(t *testing.T, path string)
		want error
	}{
		"another program's": {func(t *testing.T, path string) {
			t.Helper()
			testkit.ExecSQL(t, path, "CREATE TABLE theirs (x)", "INSERT INTO theirs VALUES ('theirs')")
		}, ErrForeign},
		"no database": {func(t *testing.T, path string) {
			t.Helper()
			testkit.WriteFile(t, path, strings.Repeat("This is a letter, and not a database.\n", 100))
		}, ErrForeign},
		"a folder": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, ErrNotRegular},
		"missing": {func(*testing.T, string) {}, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			row.make(t, path)
			before, _ := os.ReadFile(path) // a folder and a missing file have no content
			options := options(path, time.Minute)
			options.MustExist = true
			if _, err := Open(t.Context(), options); !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
			for _, access := range []Access{QueryOnly, ReadOnly, Immutable} {
				if _, err := OpenToRead(t.Context(), options, access); !errors.Is(err, row.want) {
					t.Errorf("to read: got %v, want %v", err, row.want)
				}
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			if _, err := os.Stat(path); (err != nil) != (name == "missing") {
				t.Error(err)
			}
		})
	}
}

// TestOpen_DamagedHead opens a file whose head was damaged while the log was moved into
// it, as by a power cut. The log beside it shows whose file it is.
func TestOpen_DamagedHead(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := openPath(t, path, time.Minute)
	if err := add(t.Context(), d, "a"); err != nil {
		t.Fatal(err)
	}
	testkit.ExecSQL(t, path, "PRAGMA user_version = 1") // writes the head to the log
	theirs := newPath(t)
	other := testkit.OpenSQL(t, theirs)
	for _, statement := range []string{"PRAGMA journal_mode = WAL", "CREATE TABLE theirs (x)"} {
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for name, row := range map[string]struct {
		log    string
		opened bool
	}{"its log": {path + "-wal", true}, "no log": {"", false}, "another program's log": {theirs + "-wal", false}} {
		damaged := newPath(t)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copy(content, bytes.Repeat([]byte{0xa5}, 512))
		testkit.WriteFile(t, damaged, string(content))
		if row.log != "" {
			log, err := os.ReadFile(row.log)
			if err != nil {
				t.Fatal(err)
			}
			testkit.WriteFile(t, damaged+"-wal", string(log))
		}
		file, err := Open(t.Context(), options(damaged, time.Minute))
		if (err == nil) != row.opened {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if got := stored(t, damaged); got["a"] != 1 {
				t.Errorf("%s: %v", name, got)
			}
			_ = file.Close()
		}
	}
}

// TestOpen_FailedPrepare leaves no file.
func TestOpen_FailedPrepare(t *testing.T) {
	t.Parallel()
	path, refused := newPath(t), errors.New("refused by the test")
	options := options(path, time.Minute)
	options.Prepare = func(context.Context, *DB) error { return refused }
	if _, err := Open(t.Context(), options); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if left := testkit.FileNames(t, strings.TrimSuffix(path, "test.db")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestOpenToRead refuses to write.
func TestOpenToRead(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	if err := add(t.Context(), d, "a"); err != nil {
		t.Fatal(err)
	}
	for _, access := range []Access{QueryOnly, ReadOnly} {
		file, err := OpenToRead(t.Context(), options(d.Path(), time.Minute), access)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := file.Searches.Row(t.Context(), "SELECT count(*) FROM numbers").Scan(&n); n != 1 || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
		if err := file.Bulk.Row(t.Context(), "DELETE FROM numbers RETURNING 1").Scan(&n); err == nil {
			t.Error("written to")
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestClose_OneFile checks that a closed file is complete without the files beside it.
func TestClose_OneFile(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	if err := add(t.Context(), d, "a"); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(d.Path() + suffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", suffix, err)
		}
	}
}

// TestClose_WaitsForWrite checks that a request that runs is stored, and a later one is
// refused.
func TestClose_WaitsForWrite(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	closed := make(chan error, 1)
	err := d.Write(t.Context(), func(tx *Tx) error {
		go func() { closed <- d.Close() }()
		for i := range 200 {
			if err := insert(fmt.Sprint(i))(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, <-closed); err != nil {
		t.Fatal(err)
	}
	if err := add(t.Context(), d, "late"); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed file was written to: %v", err)
	}
	if got := len(stored(t, d.Path())); got != 200 {
		t.Errorf("%d rows are stored, want 200", got)
	}
}

// TestClose_WaitsForReads checks that reads that run are finished, and later ones are
// refused.
func TestClose_WaitsForReads(t *testing.T) {
	t.Parallel()
	for range 5 {
		d := newFile(t)
		if err := add(t.Context(), d, "a"); err != nil {
			t.Fatal(err)
		}
		var readers, begun sync.WaitGroup
		for _, pool := range []*Pool{d.Frequent, d.Lookups, d.Searches, d.Bulk} {
			begun.Add(1)
			readers.Go(func() {
				begin := sync.OnceFunc(begun.Done)
				for {
					rows := 0
					err := pool.Each(t.Context(), func(Scanner) error { rows++; return nil }, "SELECT name FROM numbers")
					begin()
					if err != nil {
						if !errors.Is(err, ErrClosed) {
							t.Errorf("got %v, want %v", err, ErrClosed)
						}
						return
					}
					if rows != 1 {
						t.Errorf("%d rows", rows)
					}
				}
			})
		}
		begun.Wait()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if _, err := d.DataVersion(); err == nil {
			t.Error("a closed file is watched")
		}
		if _, err := os.Stat(d.Path() + "-wal"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the log is left: %v", err)
		}
		readers.Wait()
	}
}
