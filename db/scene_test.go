package db_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"govsvc/db"
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
	org, err := store.Organisation(t.Context(), db.DefaultOrganisation)
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

// names are what the query gives, by name.
func names(t testing.TB, path, query string) map[string]int {
	t.Helper()
	found := map[string]int{}
	rows, err := behind(t, path).QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		found[name]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// behind is the data file behind the store's back.
func behind(t testing.TB, path string) *sql.DB {
	t.Helper()
	file, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// subscribe makes a subscription, without which no event is raised.
func subscribe(t testing.TB, path string) {
	t.Helper()
	tamper(t, path, `INSERT INTO webhook_subscriptions (org_id, id, url, created_via, secret, created_at, updated_at)
		VALUES (1, 'x', 'https://hook.example', 'api', 's', '', '')`)
}

// tamper runs statements behind the store's back.
func tamper(t testing.TB, path string, statements ...string) {
	t.Helper()
	file := behind(t, path)
	defer file.Close() //nolint:errcheck // each statement was checked
	for _, statement := range statements {
		if _, err := file.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", statement, err))
		}
	}
}
