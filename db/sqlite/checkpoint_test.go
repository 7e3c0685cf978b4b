package sqlite

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"govsvc/internal/testkit"
)

const litestreamTable = "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)"

// TestEmptyReplicatedWAL checks the write-ahead log of a file that Litestream
// replicates. When the log restarts, no frames of its former content remain behind the
// new ones.
func TestEmptyReplicatedWAL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		before, then string // is run before the file is opened, and after it
		oldFrames    bool   // the log has frames of its former content
	}{
		{"replicated", litestreamTable, "", false},
		{"replicated from now on", "", litestreamTable, false},
		{"not replicated", "", "", true}, // the default of SQLite
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clock := testkit.NewClock(testkit.Start)
			options := options(newPath(t), time.Minute)
			options.Now = clock.Now
			open := func() *DB {
				t.Helper()
				d, err := Open(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = d.Close() })
				return d
			}
			d := open()
			if test.before != "" {
				testkit.ExecSQL(t, d.Path(), test.before)
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				d = open()
			}
			if test.then != "" {
				testkit.ExecSQL(t, d.Path(), test.then)
				clock.Advance(time.Minute)
			}
			emptied, oldFrames := writeUntilRestarts(t, d)
			if oldFrames != test.oldFrames || emptied > 0 == test.oldFrames {
				t.Errorf("the log was emptied %d times, frames of former content seen: %v", emptied, oldFrames)
			}
		})
	}
}

// TestEmptyReplicatedWAL_Reader checks that if a long read keeps the log from being
// emptied, the transaction that restarts the log truncates it.
func TestEmptyReplicatedWAL_Reader(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := openPath(t, path, time.Minute)
	testkit.ExecSQL(t, path, litestreamTable)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openPath(t, path, time.Minute)
	for i := range 20 {
		if err := add(t.Context(), d, fmt.Sprint("before ", i)); err != nil {
			t.Fatal(err)
		}
	}
	endRead := beginRead(t, path)
	before := d.LogSize()
	if err := d.Checkpoint(t.Context()); err != nil { // copies the log and can't truncate it
		t.Fatal(err)
	}
	endRead()
	if d.LogSize() != before {
		t.Fatalf("got a log of %d bytes while there is a reader, want %d", d.LogSize(), before)
	}
	if err := add(t.Context(), d, "after"); err != nil {
		t.Fatal(err)
	}
	if _, oldFrames := frames(t, d); oldFrames || d.LogSize() >= before {
		t.Errorf("got a log of %d bytes, want less than %d; frames of former content: %v", d.LogSize(), before, oldFrames)
	}
}

// writeUntilRestarts writes until the log has restarted three times. It returns how
// often the log was empty, and whether the log ever contained frames of former content.
func writeUntilRestarts(t *testing.T, d *DB) (emptied int, oldFrames bool) {
	t.Helper()
	last, _ := frames(t, d)
	for i, restarts := 0, 0; restarts < 3; i++ {
		if i > 5000 {
			t.Fatalf("the log restarted only %d times", restarts)
		}
		if err := add(t.Context(), d, fmt.Sprint(i, strings.Repeat("x", 3000))); err != nil {
			t.Fatal(err)
		}
		salt, old := frames(t, d)
		oldFrames = oldFrames || old
		if salt == 0 {
			emptied++
		} else if salt != last {
			restarts++
			last = salt
		}
	}
	return emptied, oldFrames
}

// frames reads the write-ahead log. It returns the salt of the log, and whether some
// frames have another salt, because they are of the log's former content.
func frames(t *testing.T, d *DB) (salt uint64, oldFrames bool) {
	t.Helper()
	log, err := os.ReadFile(d.Path() + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	const header, frameHeader = 32, 24
	if len(log) < header {
		return 0, false
	}
	frame := frameHeader + int(binary.BigEndian.Uint32(log[8:]))
	salt = binary.BigEndian.Uint64(log[16:])
	for at := header; at+frame <= len(log); at += frame {
		oldFrames = oldFrames || binary.BigEndian.Uint64(log[at+8:]) != salt
	}
	return salt, oldFrames
}

// TestCheckpoint_Readers checks that the log is emptied while a writer continues and
// overlapping reads leave no moment without a reader.
func TestCheckpoint_Readers(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := openPath(t, path, time.Minute)
	if err := add(t.Context(), d, "first"); err != nil {
		t.Fatal(err)
	}
	largest, emptied := int64(0), 0
	endRead := beginRead(t, path)
	for i := range 5 {
		for j := range 50 {
			if err := add(t.Context(), d, fmt.Sprint(i, " ", j)); err != nil {
				t.Fatal(err)
			}
		}
		next := beginRead(t, path)
		endRead()
		endRead = next
		largest = max(largest, d.LogSize())
		if err := d.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The current reader uses the end of the log. After a checkpoint, later readers
		// do not use the log.
		next = beginRead(t, path)
		endRead()
		endRead = next
		if err := d.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d.LogSize() == 0 {
			emptied++
		}
	}
	endRead()
	if emptied == 0 || largest > 8<<20 {
		t.Errorf("the log was emptied %d times and had up to %d bytes", emptied, largest)
	}
	t.Logf("emptied %d times, at most %d bytes", emptied, largest)
}

// beginRead begins a read transaction. end ends it.
func beginRead(t *testing.T, path string) (end func()) {
	t.Helper()
	file, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := file.BeginTx(t.Context(), nil)
	if err == nil {
		err = tx.QueryRowContext(t.Context(), "SELECT count(*) FROM numbers").Scan(new(int))
	}
	if err != nil {
		t.Fatal(errors.Join(err, file.Close()))
	}
	return func() {
		_ = tx.Rollback()
		_ = file.Close()
	}
}

// TestReleaseFreeSpace checks that a file shrinks while it is in use after much of its
// content was deleted, and keeps some free pages.
func TestReleaseFreeSpace(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	text := strings.Repeat("removed later ", 1400)
	for i := range 200 {
		if err := add(t.Context(), d, fmt.Sprint(i, text)); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		t.Helper()
		if err := d.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		file, log, err := d.Sizes()
		if err != nil || log != 0 || file != d.Size() {
			t.Fatal(file, log, err)
		}
		return file
	}
	full := size()
	if given, err := d.ReleaseFreeSpace(t.Context()); given != 0 || err != nil {
		t.Errorf("got %d bytes, %v, want 0 because the file has no free pages", given, err)
	}
	testkit.ExecSQL(t, d.Path(), "DELETE FROM numbers")
	given, err := d.ReleaseFreeSpace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if less := size(); given < full/2 || less != full-given {
		t.Errorf("got %d bytes removed; the file had %d and has %d", given, full, less)
	}
	if again, err := d.ReleaseFreeSpace(t.Context()); again != 0 || err != nil {
		t.Errorf("got %d bytes on the second call, %v, want 0", again, err)
	}
	if err := add(t.Context(), d, "after"); err != nil {
		t.Error(err)
	}
	var result string
	if err := d.Bulk.Row(t.Context(), "PRAGMA integrity_check").Scan(&result); result != "ok" || err != nil {
		t.Error(result, err)
	}
}
