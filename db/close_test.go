package db_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"
)

// TestCloseLeavesOneFile: a closed file is whole by itself, so that it can be
// copied.
func TestCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Minute)
	if err := addRisk(t.Context(), store, operator(t, store), "R"); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + end); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", end, err)
		}
	}
}
