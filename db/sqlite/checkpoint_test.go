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

// TestTurnLog: beside a file that Litestream replicates, a log that restarts never has
// the rest of the former one behind it.
func TestTurnLog(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		before, then string // is run before the file is opened, and after it
		rest         bool
	}{
		{"replicated", litestreamTable, "", false},
		{"replicated from now on", "", litestreamTable, false},
		{"not replicated", "", "", true}, // what SQLite does
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
			emptied, rest := writeUntilRestarts(t, d)
			if rest != test.rest || emptied > 0 == test.rest {
				t.Errorf("the log was emptied %d times, the rest of a former one seen: %v", emptied, rest)
			}
		})
	}
}

// TestTurnLog_Reader: if a reader stays too long for the log to be emptied, the
// transaction that restarts the log cuts off the rest.
func TestTurnLog_Reader(t *testing.T) {
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
	leave := reading(t, path)
	former := d.LogSize()
	if err := d.Checkpoint(t.Context()); err != nil { // moves all of it, and leaves it
		t.Fatal(err)
	}
	leave()
	if d.LogSize() != former {
		t.Fatalf("a log of %d bytes has %d while there is a reader", former, d.LogSize())
	}
	if err := add(t.Context(), d, "after"); err != nil {
		t.Fatal(err)
	}
	if _, rest := frames(t, d); rest || d.LogSize() >= former {
		t.Errorf("%d bytes of %d, the rest of a former one: %v", d.LogSize(), former, rest)
	}
}

// writeUntilRestarts writes until the log has restarted three times. It returns how
// often the log was empty, and whether the rest of a former log was ever seen in it.
func writeUntilRestarts(t *testing.T, d *DB) (emptied int, rest bool) {
	t.Helper()
	last, _ := frames(t, d)
	for i, turns := 0, 0; turns < 3; i++ {
		if i > 5000 {
			t.Fatalf("the log restarted %d times only", turns)
		}
		if err := add(t.Context(), d, fmt.Sprint(i, strings.Repeat("x", 3000))); err != nil {
			t.Fatal(err)
		}
		salt, some := frames(t, d)
		rest = rest || some
		if salt == 0 {
			emptied++
		} else if salt != last {
			turns++
			last = salt
		}
	}
	return emptied, rest
}

// frames reads the log beside a file: its salt, and whether there are frames of another
// log in it.
func frames(t *testing.T, d *DB) (salt uint64, rest bool) {
	t.Helper()
	log, err := os.ReadFile(d.Path() + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	const head, frameHead = 32, 24
	if len(log) < head {
		return 0, false
	}
	frame := frameHead + int(binary.BigEndian.Uint32(log[8:]))
	salt = binary.BigEndian.Uint64(log[16:])
	for at := head; at+frame <= len(log); at += frame {
		rest = rest || binary.BigEndian.Uint64(log[at+8:]) != salt
	}
	return salt, rest
}

// TestCheckpoint_Readers: while readers overlap so that there is always one, and a
// writer goes on, the log beside the file is emptied.
func TestCheckpoint_Readers(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := openPath(t, path, time.Minute)
	if err := add(t.Context(), d, "first"); err != nil {
		t.Fatal(err)
	}
	largest, emptied := int64(0), 0
	leave := reading(t, path)
	for i := range 5 {
		for j := range 50 {
			if err := add(t.Context(), d, fmt.Sprint(i, " ", j)); err != nil {
				t.Fatal(err)
			}
		}
		next := reading(t, path)
		leave()
		leave = next
		largest = max(largest, d.LogSize())
		if err := d.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The present reader sees the end of the log. Once all of it is in the file,
		// later readers need none of it.
		next = reading(t, path)
		leave()
		leave = next
		if err := d.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d.LogSize() == 0 {
			emptied++
		}
	}
	leave()
	if emptied == 0 || largest > 8<<20 {
		t.Errorf("emptied %d times, at most %d bytes", emptied, largest)
	}
	t.Logf("emptied %d times, at most %d bytes", emptied, largest)
}

// reading begins a transaction that reads. leave ends it.
func reading(t *testing.T, path string) (leave func()) {
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

// TestGiveBack: a file from which much was removed gets smaller while it is in use, and
// keeps some free space.
func TestGiveBack(t *testing.T) {
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
	if given, err := d.GiveBack(t.Context()); given != 0 || err != nil {
		t.Errorf("%d bytes of a full file given back, %v", given, err)
	}
	testkit.ExecSQL(t, d.Path(), "DELETE FROM numbers")
	given, err := d.GiveBack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if less := size(); given < full/2 || less != full-given {
		t.Errorf("%d bytes given back; the file had %d and has %d", given, full, less)
	}
	if again, err := d.GiveBack(t.Context()); again != 0 || err != nil {
		t.Errorf("%d bytes more, %v", again, err)
	}
	if err := add(t.Context(), d, "after"); err != nil {
		t.Error(err)
	}
	var result string
	if err := d.Bulk.Row(t.Context(), "PRAGMA integrity_check").Scan(&result); result != "ok" || err != nil {
		t.Error(result, err)
	}
}
