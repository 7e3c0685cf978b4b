package db_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/migrations"
)

// TestSchema_OldShells checks that no migration has an ORDER BY inside an aggregate
// function. Versions of the sqlite3 shell before 3.44, which many systems have, would
// report the file as malformed.
func TestSchema_OldShells(t *testing.T) {
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

// TestOpen_Again opens a file again. Its records, keys and cursors are still valid.
func TestOpen_Again(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	first := open(t, path)
	_, key, err := first.Keys.Mint(t.Context(), testdb.Operator(t, first), db.KeyDraft{Name: "n", Kind: db.LiveKey, Scopes: []string{"read:all"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := testdb.AddRisk(t.Context(), first, name); err != nil {
			t.Fatal(err)
		}
	}
	org := testdb.DefaultOrg(t, first)
	page, err := first.List(t.Context(), org, resource.Risk, db.ListQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	if _, ok := again.Keys.Parse(key); !ok {
		t.Error("a key of the file is refused")
	}
	next, err := again.List(t.Context(), org, resource.Risk, db.ListQuery{Limit: 1, Cursor: page.Next})
	if err != nil || next.HasMore || !strings.Contains(string(next.Rows), "risk_id") {
		t.Errorf("got %s, %v for the cursor of the first store", next.Rows, err)
	}
}

// TestOpen_Refused opens files of other programs and of newer versions.
func TestOpen_Refused(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]struct {
		make func(t *testing.T, path string)
		want string // in the error
	}{
		"newer": {func(t *testing.T, path string) {
			t.Helper()
			_ = open(t, path).Close()
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
			path := testkit.NewPath(t)
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
	path := testkit.NewPath(t)
	if _, err := db.Open(t.Context(), db.Options{Path: path, MustExist: true}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that must exist: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file that must exist was created")
	}
}

// TestMigrate_Copies opens an older file. A copy is made before the migration.
func TestMigrate_Copies(t *testing.T) {
	t.Parallel()
	path := testkit.NewPath(t)
	unpackOlderFile(t, path)
	before := testdb.Risks(t, path)
	migrated := open(t, path)
	if got, err := migrated.File.Version(t.Context()); err != nil || got <= 16 {
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
		if diff := cmp.Diff(before, testdb.Risks(t, file)); diff != "" || len(before) < 10 {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
	if testkit.CountSQL(t, copies[0], "SELECT max(version_id) FROM goose_db_version")["16"] != 1 {
		t.Error("the copy was made after the migration")
	}
}
