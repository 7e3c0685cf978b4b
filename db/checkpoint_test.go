package db_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// TestTurnedLog: beside a file that Litestream replicates, a log that begins
// anew never has the rest of the former one behind it.
func TestTurnedLog(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)"
	for _, test := range []struct {
		name         string
		before, then string // is run before the file is opened, and after it
		rest         bool
	}{
		{"replicated", table, "", false},
		{"replicated from now on", "", table, false},
		{"not replicated", "", "", true}, // what SQLite does
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path, now := newPath(t), at
			open := func() *db.DB {
				t.Helper()
				store, err := db.Open(t.Context(), db.Options{Path: path, Wait: time.Minute, Now: func() time.Time { return now }})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = store.Close() })
				return store
			}
			store := open()
			by := operator(t, store)
			if test.before != "" {
				testkit.ExecSQL(t, path, test.before)
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
				store = open()
			}
			if test.then != "" {
				testkit.ExecSQL(t, path, test.then)
				now = now.Add(time.Minute)
			}
			emptied, rest := writeTurns(t, store, by)
			if rest != test.rest || emptied > 0 == test.rest {
				t.Errorf("the log was emptied %d times, the rest of a former one seen: %v", emptied, rest)
			}
		})
	}
}

// TestTurnedLogOfAReader: where a reader stays too long for the log to be
// emptied, the change that begins it anew cuts off the rest.
func TestTurnedLogOfAReader(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Minute)
	by := operator(t, store)
	testkit.ExecSQL(t, path, "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store = handle(t, path, time.Minute)
	for i := range 20 {
		if err := addRisk(t.Context(), store, by, fmt.Sprint("before ", i)); err != nil {
			t.Fatal(err)
		}
	}
	leave := reading(t, path)
	former := store.LogSize()
	if err := store.Checkpoint(t.Context()); err != nil { // all of it is moved, and it stays
		t.Fatal(err)
	}
	leave()
	if store.LogSize() != former {
		t.Fatalf("a log of %d bytes has %d while there is a reader", former, store.LogSize())
	}
	if err := addRisk(t.Context(), store, by, "after"); err != nil {
		t.Fatal(err)
	}
	if _, rest := frames(t, store); rest || store.LogSize() >= former {
		t.Errorf("%d bytes of %d, the rest of a former one: %v", store.LogSize(), former, rest)
	}
}

// writeTurns writes until the log has begun anew three times. It tells how often
// it was empty before, and whether the rest of a former one was ever seen in it.
func writeTurns(t *testing.T, store *db.DB, by db.Actor) (emptied int, rest bool) {
	t.Helper()
	last, _ := frames(t, store)
	for i, turns := 0, 0; turns < 3; i++ {
		if i > 5000 {
			t.Fatalf("the log began anew %d times only", turns)
		}
		if err := addRisk(t.Context(), store, by, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		salt, some := frames(t, store)
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

// frames reads the log beside a file: the mark of the log, and whether there are
// frames of another one in it.
func frames(t *testing.T, store *db.DB) (salt uint64, rest bool) {
	t.Helper()
	log, err := os.ReadFile(store.Path() + "-wal")
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
