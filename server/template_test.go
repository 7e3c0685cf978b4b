package server_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// template is a data file to copy, with keys to use. To migrate a file, to fill
// it and to mint a key takes longer than most tests.
type template struct {
	data []byte
	keys map[string][]string // by kind
}

var (
	emptyFile  = sync.OnceValues(func() (template, error) { return prepare(nil, spareKeys()) })
	filledFile = sync.OnceValues(func() (template, error) {
		records, err := readFixtures()
		if err != nil {
			return template{}, err
		}
		return prepare(records, spareKeys())
	})
	deskFile = sync.OnceValues(func() (template, error) {
		scopes := append(slices.Clone(writeScopes), "read:all", "read:audit")
		return prepare(nil, []db.KeyDraft{{Name: "a desk's key", Kind: db.LiveKey, Scopes: scopes, PerMinute: new(100_000)}})
	})
)

// spareKeys are those that tests make their own; see mint.
func spareKeys() []db.KeyDraft {
	var drafts []db.KeyDraft
	for _, kind := range []string{db.LiveKey, db.LiveKey, db.LiveKey, db.TestKey} {
		drafts = append(drafts, db.KeyDraft{Name: "spare", Kind: kind, Scopes: []string{"read:all"}})
	}
	return drafts
}

func prepare(records []db.Record, keys []db.KeyDraft) (made template, err error) {
	folder, err := os.MkdirTemp("", "govsvc-test-")
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path, ctx := filepath.Join(folder, "govsvc.db"), context.Background()
	store, err := db.Open(ctx, db.Options{Path: path, Now: testkit.NewClock(start).Now})
	if err != nil {
		return made, err
	}
	org, err := store.Orgs.ByName(ctx, db.DefaultOrganisation)
	if err != nil {
		return made, err
	}
	by := db.Actor{Org: org.Org, ID: "system"}
	made.keys = map[string][]string{}
	for _, draft := range keys {
		_, key, err := store.Keys.Mint(ctx, by, draft)
		if err != nil {
			return made, err
		}
		made.keys[draft.Kind] = append(made.keys[draft.Kind], key)
	}
	if err := put(ctx, store, by, records); err != nil {
		return made, err
	}
	if err := errors.Join(checkpoint(ctx, path), store.Close()); err != nil {
		return made, err
	}
	made.data, err = os.ReadFile(path)
	return made, err
}

// checkpoint brings all of a data file into the one file that is copied.
func checkpoint(ctx context.Context, path string) error {
	file, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	_, err = file.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, file.Close())
}

// copied is a copy of a template in a folder of the test's own, and its keys.
func copied(t testing.TB, of func() (template, error)) (path string, keys map[string][]string) {
	t.Helper()
	made, err := of()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "govsvc.db")
	if err := os.WriteFile(path, made.data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, made.keys
}

// empty is a file of the test's own, without data.
func empty(t testing.TB) string {
	t.Helper()
	path, _ := copied(t, emptyFile)
	return path
}

// another is a store over a file with secrets of its own, which no copy has.
func another(t testing.TB) *db.DB {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "another.db"), testkit.NewClock(start))
}
