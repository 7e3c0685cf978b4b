package db_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/migrations"
)

// TestFileMode: the file and what SQLite keeps beside it are their owner's.
func TestFileMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	path := newPath(t)
	store := handle(t, path, time.Minute)
	if err := addRisk(t.Context(), store, operator(t, store), "R"); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", end, mode)
		}
	}
}

// TestSchemaOfOldShells: the schema uses no ORDER BY inside an aggregate, for
// an sqlite3 before 3.44, which many systems still have, would call the whole
// file malformed.
func TestSchemaOfOldShells(t *testing.T) {
	t.Parallel()
	inAggregate := regexp.MustCompile(`(?is)(group_array|group_object|group_concat)\((?:[^()]|\([^()]*\))*ORDER\s+BY`)
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := migrations.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := inAggregate.Find(text); found != nil {
			t.Errorf("%s: %s", name, found)
		}
	}
}

// TestReopen finds again what was written, its secrets included.
func TestReopen(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	first := handle(t, path, time.Minute)
	_, key, err := first.Keys.Mint(t.Context(), operator(t, first), db.KeyDraft{Name: "n", Kind: db.LiveKey, Scopes: []string{"read:all"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := addRisk(t.Context(), first, operator(t, first), name); err != nil {
			t.Fatal(err)
		}
	}
	org := defaultOrg(t, first)
	page, err := first.List(t.Context(), org, resource.Risk, db.ListQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := handle(t, path, time.Minute)
	if _, ok := again.Keys.Parse(key); !ok {
		t.Error("a key of the file is refused")
	}
	next, err := again.List(t.Context(), org, resource.Risk, db.ListQuery{Limit: 1, Cursor: page.Next})
	if err != nil || next.HasMore || !strings.Contains(next.Rows, "risk_id") {
		t.Errorf("the cursor of before: %s, %v", next.Rows, err)
	}
}

// TestRefusedFiles opens what is not ours to open.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]struct {
		make func(t *testing.T, path string)
		want string // in the error
	}{
		"newer": {func(t *testing.T, path string) {
			t.Helper()
			_ = handle(t, path, time.Minute).Close()
			testkit.ExecSQL(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)", "PRAGMA wal_checkpoint(TRUNCATE)")
		}, "newer govsvc"},
		"foreign": {func(t *testing.T, path string) {
			t.Helper()
			testkit.ExecSQL(t, path, "CREATE TABLE theirs (x)", "INSERT INTO theirs VALUES ('theirs')")
		}, "not a govsvc data file"},
		"no database": {func(t *testing.T, path string) {
			t.Helper()
			testkit.WriteFile(t, path, strings.Repeat("This is a letter, and not a database.\n", 100))
		}, "is not a govsvc data file"},
		"a folder": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "is a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			file.make(t, path)
			store, err := db.Open(t.Context(), db.Options{Path: path})
			if err == nil {
				_ = store.Close()
			}
			if err == nil || !strings.Contains(err.Error(), file.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("opened with %v, want %q", err, file.want)
			}
		})
	}
	path := newPath(t)
	if _, err := db.Open(t.Context(), db.Options{Path: path, MustExist: true}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that must exist: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it was made")
	}
}

// TestCopyBeforeMigration makes a file look older than it is: it is copied
// beside itself before it is migrated.
func TestCopyBeforeMigration(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	older(t, path)
	before := testkit.CountSQL(t, path, "SELECT risk_id FROM risks")
	migrated := handle(t, path, time.Minute)
	if got, err := migrated.Version(t.Context()); err != nil || got <= 16 {
		t.Errorf("version %d, %v", got, err)
	}
	copies, err := filepath.Glob(path + ".v*")
	if err != nil || len(copies) != 1 {
		t.Fatalf("copies %v, %v", copies, err)
	}
	info, err := os.Stat(copies[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v, %v", info.Mode(), err)
	}
	for _, file := range []string{path, copies[0]} {
		if diff := cmp.Diff(before, testkit.CountSQL(t, file, "SELECT risk_id FROM risks")); diff != "" || len(before) < 10 {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
	if testkit.CountSQL(t, copies[0], "SELECT max(version_id) FROM goose_db_version")["16"] != 1 {
		t.Error("the copy was made after the migration")
	}
}
