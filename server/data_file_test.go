package server_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// keysByKind are the keys of a data file. To mint a key takes longer than most tests.
type keysByKind map[string][]string

var (
	emptyFile  = newTemplate(nil, spareKeys())
	filledFile = testdb.NewTemplate(testdb.Options(""), func(ctx context.Context, store *db.DB) (keysByKind, error) {
		records, err := readFixtures()
		if err != nil {
			return nil, err
		}
		return fillFile(ctx, store, records, spareKeys())
	})
	writeFile = newTemplate(nil, append([]db.KeyDraft{{
		Name: "writes", Kind: db.LiveKey, Scopes: append(slices.Clone(writeScopes), "read:all", "read:audit"), PerMinute: new(100_000),
	}}, spareKeys()...)) // the first live key writes
)

func newTemplate(records []db.Record, keys []db.KeyDraft) *testdb.Template[keysByKind] {
	return testdb.NewTemplate(testdb.Options(""), func(ctx context.Context, store *db.DB) (keysByKind, error) {
		return fillFile(ctx, store, records, keys)
	})
}

// spareKeys returns the keys that tests change instead of making new ones; see mint.
func spareKeys() []db.KeyDraft {
	var drafts []db.KeyDraft
	for _, kind := range []string{db.LiveKey, db.LiveKey, db.LiveKey, db.TestKey} {
		drafts = append(drafts, db.KeyDraft{Name: "spare", Kind: kind, Scopes: []string{"read:all"}})
	}
	return drafts
}

func fillFile(ctx context.Context, store *db.DB, records []db.Record, keys []db.KeyDraft) (keysByKind, error) {
	org, err := store.Orgs.ByName(ctx, db.DefaultOrganisation)
	if err != nil {
		return nil, err
	}
	by := db.Actor{Org: org.Org, ID: "system"}
	minted := keysByKind{}
	for _, draft := range keys {
		_, key, err := store.Keys.Mint(ctx, by, draft)
		if err != nil {
			return nil, err
		}
		minted[draft.Kind] = append(minted[draft.Kind], key)
	}
	return minted, put(ctx, store, by, records)
}

// another returns a store whose secrets differ from those of the copied files.
func another(t testing.TB) *db.DB {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "another.db"), testkit.NewClock(start))
}
