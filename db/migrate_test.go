package db_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/backup"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// unpackOlderFile creates a data file of schema version 16 at a path.
func unpackOlderFile(t *testing.T, path string) {
	t.Helper()
	testkit.Unpack(t, filepath.Join("testdata", "versions", "v16.db.gz"), path)
}

// leaveFormerLog leaves the write-ahead log of a removed file, as a killed process does.
func leaveFormerLog(t *testing.T, path string) {
	t.Helper()
	store := open(t, path)
	testkit.ExecSQL(t, path, "UPDATE organisations SET name = 'former'")
	log, err := os.ReadFile(path + "-wal")
	if err == nil {
		err = errors.Join(store.Close(), os.Remove(path))
	}
	if err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, path+"-wal", string(log))
}

var openRounds = flag.Int("open.rounds", 2, "how many files of each kind TestOpen_Concurrent opens")

// TestOpen_Concurrent opens a file several times at once. One of them creates or migrates
// it, and all of them use the same file.
func TestOpen_Concurrent(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before func(t *testing.T, path string)
		copies int
	}{
		"new":                     {func(*testing.T, string) {}, 0},
		"empty":                   {func(t *testing.T, path string) { t.Helper(); testkit.WriteFile(t, path, "") }, 0},
		"older":                   {unpackOlderFile, 1},
		"new beside a former log": {leaveFormerLog, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range *openRounds {
				path := testkit.NewPath(t)
				row.before(t, path)
				stores := make([]*db.DB, 6)
				var group sync.WaitGroup
				for i := range stores {
					group.Go(func() {
						var err error
						if stores[i], err = db.Open(t.Context(), testdb.Options(path)); err != nil {
							t.Error(err)
						}
					})
				}
				group.Wait()
				if t.Failed() {
					return
				}
				_, key, err := stores[0].Keys.Mint(t.Context(), testdb.Operator(t, stores[0]), db.KeyDraft{Name: "n", Kind: db.LiveKey, Scopes: []string{"read:all"}})
				if err != nil {
					t.Error(err)
				}
				for _, store := range stores {
					if _, ok := store.Keys.Parse(key); !ok {
						t.Error("a key of one store is not valid in another")
					}
					_ = store.Close()
				}
				copies, left := filesBeside(t, path)
				if len(copies) != row.copies || len(left) > 0 {
					t.Errorf("copies %v, left %v", copies, left)
				}
				checkFile(t, path)
			}
		})
	}
}

// TestMigrate_Fails checks that a failed migration leaves the file unchanged and no
// copy of it.
func TestMigrate_Fails(t *testing.T) {
	t.Parallel()
	path := testkit.NewPath(t)
	unpackOlderFile(t, path)
	testkit.ExecSQL(t, path, "ALTER TABLE sessions ADD COLUMN address TEXT", "PRAGMA journal_mode = WAL")
	before := schemaOf(t, path)
	for range 2 {
		if _, err := db.Open(t.Context(), testdb.Options(path)); err == nil || !strings.Contains(err.Error(), "migrate from version ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("opened: %v", err)
		}
	}
	if diff := cmp.Diff(before, schemaOf(t, path)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	for _, name := range testkit.FileNames(t, filepath.Dir(path)) {
		if strings.Contains(name, ".v") {
			t.Errorf("left: %s", name)
		}
	}
}

// TestMigrate_Locked checks that the open reports after a while that another process
// keeps writing.
func TestMigrate_Locked(t *testing.T) {
	t.Parallel()
	path := testkit.NewPath(t)
	unpackOlderFile(t, path)
	testkit.ExecSQL(t, path, "PRAGMA journal_mode = WAL")
	other, err := testkit.OpenSQL(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	options := testdb.Options(path)
	options.Wait = time.Millisecond
	if _, err := db.Open(t.Context(), options); err == nil || !strings.Contains(err.Error(), "another process keeps writing to it") {
		t.Errorf("opened: %v", err)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	checkFile(t, path)
}

// checkFile checks a new or a migrated file.
func checkFile(t *testing.T, path string) {
	t.Helper()
	store := open(t, path)
	defer store.Close() //nolint:errcheck // of the test
	if diff := cmp.Diff(schemaOf(t, testdb.EmptyFile(t)), schemaOf(t, path)); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if faults, err := backup.New(store).Faults(t.Context(), true); len(faults) > 0 || err != nil {
		t.Error(faults, err)
	}
	for query, want := range map[string]map[string]int{
		"SELECT name FROM organisations": {"default": 1},
		"SELECT name FROM secrets":       {"cursor": 1, "key_tag": 1},
		"PRAGMA auto_vacuum":             {"2": 1},
		"PRAGMA journal_mode":            {"wal": 1},
		"SELECT version_id FROM goose_db_version GROUP BY 1 HAVING count(*) > 1": {},
	} {
		if diff := cmp.Diff(want, testkit.CountSQL(t, path, query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// filesBeside returns the copies that were made before a migration, and the other files
// in the folder of a closed file.
func filesBeside(t *testing.T, path string) (copies, left []string) {
	t.Helper()
	for _, name := range testkit.FileNames(t, filepath.Dir(path)) {
		switch {
		case name == filepath.Base(path):
		case strings.HasPrefix(name, filepath.Base(path)+".v"):
			copies = append(copies, name)
		default:
			left = append(left, name)
		}
	}
	return copies, left
}
