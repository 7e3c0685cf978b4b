package db_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// TestForeignFileIsLeftAlone refuses a file of SQLite that is another
// program's, byte for byte as it was.
func TestForeignFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	testkit.ExecSQL(t, path, "CREATE TABLE theirs (x)", "INSERT INTO theirs VALUES ('theirs')")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Open(t.Context(), db.Options{Path: path}); err == nil {
		t.Fatal("opened")
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the file was changed")
	}
}

// TestGarbledHead: a file whose head was garbled while the log beside it was
// moved into it, as by a power cut, is known by the log; without the log it is
// nobody's, and another program's log makes it not ours.
func TestGarbledHead(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Minute)
	if err := addRisk(t.Context(), store, operator(t, store), "R"); err != nil {
		t.Fatal(err)
	}
	testkit.ExecSQL(t, path, "PRAGMA user_version = 1") // which is in the head, and so puts that into the log
	theirs := newPath(t)
	other := testkit.OpenSQL(t, theirs)
	for _, statement := range []string{"PRAGMA journal_mode = WAL", "CREATE TABLE theirs (x)"} {
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for name, row := range map[string]struct {
		log  string
		fine bool
	}{"its log": {path + "-wal", true}, "no log": {"", false}, "another's log": {theirs + "-wal", false}} {
		garbled := newPath(t)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copy(content, bytes.Repeat([]byte{0xa5}, 512))
		if err := os.WriteFile(garbled, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if row.log != "" {
			log, err := os.ReadFile(row.log)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(garbled+"-wal", log, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		opened, err := db.Open(t.Context(), db.Options{Path: garbled, MustExist: true})
		if (err == nil) != row.fine {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if got := testkit.CountSQL(t, garbled, "SELECT risk_id FROM risks"); got["R"] != 1 {
				t.Errorf("%s: %v", name, got)
			}
			_ = opened.Close()
		}
	}
}
