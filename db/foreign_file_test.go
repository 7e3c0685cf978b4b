package db_test

import (
	"bytes"
	"os"
	"testing"

	"govsvc/db"
)

// TestForeignFileIsLeftAlone refuses a file of SQLite that is another
// program's, byte for byte as it was.
func TestForeignFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	tamper(t, path, "CREATE TABLE theirs (x)", "INSERT INTO theirs VALUES ('theirs')")
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
