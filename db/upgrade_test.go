package db_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/backup"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/sandbox"
	"govsvc/server/openapi"
	"govsvc/server/transfer"
)

var keep = flag.Bool("keep", false, "keep a file of the present version in testdata/versions")

// TestUpgrade migrates a file of each kept schema version. Its tables become
// those of a new file, its data is unchanged, and the copy that was made before
// the migration can be restored. A kept file is never made again, because
// operators have files like it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	if *keep {
		keepVersion(t)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "versions", "*.db.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files of earlier versions", err)
	}
	want := schemaOf(t, testdb.EmptyFile(t))
	for _, file := range files {
		version := strings.TrimSuffix(filepath.Base(file), ".db.gz")
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			path := testkit.NewPath(t)
			testkit.Unpack(t, file, path)
			before := testdb.Risks(t, path)
			store := open(t, path)
			if diff := cmp.Diff(want, schemaOf(t, path)); diff != "" {
				t.Fatalf("a migrated file of %s must equal a new one: add a migration and leave the earlier ones as they are (-want +got):\n%s", version, diff)
			}
			if faults, err := backup.New(store).Faults(t.Context(), true); len(faults) > 0 || err != nil {
				t.Error(faults, err)
			}
			if diff := cmp.Diff(before, testdb.Risks(t, path)); diff != "" || len(before) < 10 {
				t.Errorf("%d risks (-before +after):\n%s", len(before), diff)
			}
			if intact, broken, err := store.Audit.Verify(t.Context(), testdb.DefaultOrg(t, store).Org); intact == 0 || broken != nil || err != nil {
				t.Errorf("the audit log: %d intact, %v, %v", intact, broken, err)
			}
			if err := testdb.AddRisk(t.Context(), store, "after"); err != nil {
				t.Error(err)
			}
			wayBack(t, path)
		})
	}
}

// wayBack restores, to another path, the copy that was made before a migration.
func wayBack(t *testing.T, path string) {
	t.Helper()
	copies, err := filepath.Glob(path + ".v*")
	if err != nil || len(copies) > 1 {
		t.Errorf("copies %v, %v", copies, err)
	}
	for _, copied := range copies {
		if _, err := backup.Restore(t.Context(), copied, testdb.Options(testkit.NewPath(t)), db.Actor{}, false); err != nil {
			t.Error(err)
		}
	}
}

// schemaOf returns the text of a file's tables, indexes, triggers and views.
func schemaOf(t *testing.T, path string) map[string]int {
	t.Helper()
	return testkit.CountSQL(t, path, "SELECT type || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
}

// keepVersion packs a file of the present version with some data of every kind, unless
// there is one.
func keepVersion(t *testing.T) {
	t.Helper()
	var ids atomic.Int64
	store, err := db.Open(t.Context(), db.Options{
		Path: testkit.NewPath(t), Now: testkit.NewClock(testkit.Start).Now, Random: testkit.Zeros{},
		NewID: func() string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", ids.Add(1)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // of the test
	version, err := store.File.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join("testdata", "versions", fmt.Sprintf("v%d.db.gz", version))
	if _, err := os.Stat(to); err == nil {
		return
	}
	document, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	by := testdb.Operator(t, store)
	if err := store.Write(t.Context(), by, func(tx *db.Tx) error {
		_, _, err := tx.CreateSubscription(db.Record{"url": "https://siem.example.com/hooks", "active": true, "description": nil, "event_types": []any{"risk.created"}})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Import(t.Context(), store, document, by, []transfer.Source{sandbox.Demo()}, transfer.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Keys.Mint(t.Context(), by, db.KeyDraft{Name: "n", Kind: db.LiveKey, Scopes: []string{"read:all"}}); err != nil {
		t.Fatal(err)
	}
	copied := testkit.NewPath(t)
	if _, err := backup.New(store).Make(t.Context(), copied, false); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = writer.Write(text)
	}
	if err == nil {
		err = writer.Close()
	}
	if err == nil {
		err = os.WriteFile(to, packed.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
