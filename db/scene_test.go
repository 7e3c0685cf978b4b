package db_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// at is where the clocks of these tests stand.
var at = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// handle opens the file at path; several of them are several processes.
func handle(t testing.TB, path string, wait time.Duration) *db.DB {
	t.Helper()
	store, err := db.Open(t.Context(), db.Options{Path: path, Wait: wait, Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// newPath is where a test's file is to be.
func newPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "govsvc.db")
}

// operator is the operator, at work on the default organisation.
func operator(t testing.TB, store *db.DB) db.Actor {
	t.Helper()
	return db.Actor{Org: defaultOrg(t, store).Org, ID: "system"}
}

func defaultOrg(t testing.TB, store *db.DB) db.Organisation {
	t.Helper()
	org, err := store.Orgs.ByName(t.Context(), db.DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	return org
}

// putRisk puts a risk of this name, with its audit event.
func putRisk(tx *db.Tx, name string) error {
	if err := putUnaudited(tx, name); err != nil {
		return err
	}
	return tx.Audit(db.AuditEvent{Action: "risk " + name, Category: db.DataChange, Severity: db.SeverityWrite})
}

func putUnaudited(tx *db.Tx, name string) error {
	_, err := tx.Put("risk", db.Record{"risk_id": name, "description": "a risk that is put by a test", "severity": "HIGH", "likelihood": "RARE"})
	return err
}

// addRisk is a change of its own.
func addRisk(ctx context.Context, store *db.DB, by db.Actor, name string) error {
	return store.Write(ctx, by, func(tx *db.Tx) error { return putRisk(tx, name) })
}

// subscribe makes a subscription, without which no event is raised.
func subscribe(t testing.TB, path string) {
	t.Helper()
	testkit.ExecSQL(t, path, `INSERT INTO webhook_subscriptions (org_id, id, url, created_via, secret, created_at, updated_at)
		VALUES (1, 'x', 'https://hook.example', 'api', 's', '', '')`)
}

// optionsFor are the options of a file whose clock stands at noon.
func optionsFor(path string) db.Options {
	return db.Options{Path: path, Now: func() time.Time { return at }}
}
