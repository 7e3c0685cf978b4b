package db_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/sandbox"
	"govsvc/server/openapi"
	"govsvc/server/transfer"
)

// unreleased is the version in the making. Its file is made anew with -update
// when a migration of it is edited. The files of released versions are never
// made again: they are what stands on the disks of operators.
const unreleased = "0.1"

var update = flag.Bool("update", false, "make the file of the version in the making anew")

// TestUpgrade migrates a file of each version: its tables become those of a new
// file, its data stays, and the copy that was made before can be restored.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	if *update {
		makeRelease(t, filepath.Join("testdata", "releases", unreleased+".db.gz"))
	}
	releases, err := filepath.Glob(filepath.Join("testdata", "releases", "*.db.gz"))
	if err != nil || len(releases) == 0 {
		t.Fatal("no files of releases", err)
	}
	want := schemaOf(t, handle(t, newPath(t), time.Minute).Path())
	for _, release := range releases {
		version := strings.TrimSuffix(filepath.Base(release), ".db.gz")
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			unpack(t, release, path)
			before := names(t, path, "SELECT risk_id FROM risks")
			store := handle(t, path, time.Minute)
			if diff := cmp.Diff(want, schemaOf(t, path)); diff != "" {
				mend := "a file of " + version + " must become what a new one is: write a migration"
				if version == unreleased {
					mend = "while " + version + " is not released: go test ./db -run TestUpgrade -update"
				}
				t.Fatalf("%s (-want +got):\n%s", mend, diff)
			}
			if faults, err := store.Faults(t.Context(), true); len(faults) > 0 || err != nil {
				t.Error(faults, err)
			}
			if diff := cmp.Diff(before, names(t, path, "SELECT risk_id FROM risks")); diff != "" || len(before) < 10 {
				t.Errorf("%d risks (-before +after):\n%s", len(before), diff)
			}
			if sound, broken, err := store.VerifyAudit(t.Context(), defaultOrg(t, store).Org); sound == 0 || broken != nil || err != nil {
				t.Errorf("the audit log: %d sound, %v, %v", sound, broken, err)
			}
			if err := addRisk(t.Context(), store, operator(t, store), "after"); err != nil {
				t.Error(err)
			}
			wayBack(t, path, version)
		})
	}
}

// wayBack restores the copy that was made before a migration, if there was one,
// elsewhere.
func wayBack(t *testing.T, path, version string) {
	t.Helper()
	copies, err := filepath.Glob(path + ".v*")
	if err != nil || len(copies) > 1 || len(copies) == 0 && version != unreleased {
		t.Errorf("copies %v, %v", copies, err)
	}
	for _, copied := range copies {
		if _, err := db.Restore(t.Context(), copied, optionsFor(newPath(t)), false); err != nil {
			t.Error(err)
		}
	}
}

// schemaOf is the text of a file's tables, indexes, triggers and views.
func schemaOf(t *testing.T, path string) map[string]int {
	t.Helper()
	return names(t, path, "SELECT type || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	packed, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, string(text))
}

// makeRelease packs a file with a little of everything.
func makeRelease(t *testing.T, to string) {
	t.Helper()
	ids := 0
	store, err := db.Open(t.Context(), db.Options{
		Path: newPath(t), Now: func() time.Time { return at }, Random: zeros{},
		NewID: func() string { ids++; return fmt.Sprintf("00000000-0000-7000-8000-%012d", ids) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // of the test
	document, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	by := operator(t, store)
	if err := store.Write(t.Context(), by, func(tx *db.Tx) error {
		_, _, err := tx.CreateSubscription(db.Record{"url": "https://siem.example.com/hooks", "active": true, "description": nil, "event_types": []any{"risk.created"}})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Import(t.Context(), store, document, by, []transfer.Source{sandbox.Demo()}, transfer.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.MintKey(t.Context(), by, db.KeyDraft{Name: "n", Kind: db.LiveKey, Scopes: []string{"read:all"}}); err != nil {
		t.Fatal(err)
	}
	copied := newPath(t)
	if _, err := store.Backup(t.Context(), copied, false); err != nil {
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
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, packed.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// zeros is no source of chance.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
