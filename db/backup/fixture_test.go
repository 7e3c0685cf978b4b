package backup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/backup"
	"govsvc/internal/testkit"
)

// operator is the actor of the command line.
var operator = db.Actor{ID: "system"}

func options(path string) db.Options {
	return db.Options{Path: path, Wait: time.Minute, Now: func() time.Time { return testkit.Start }}
}

// newPath is the path of a data file that does not exist yet.
func newPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "govsvc.db")
}

// open opens a data file; the store is closed when the test ends.
func open(t *testing.T, path string) *db.DB {
	t.Helper()
	store, err := db.Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func defaultOrg(t *testing.T, store *db.DB) db.Organisation {
	t.Helper()
	org, err := store.Orgs.ByName(t.Context(), db.DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	return org
}

// addRisk stores a risk in the default organisation, with an audit event.
func addRisk(ctx context.Context, store *db.DB, name string) error {
	org, err := store.Orgs.ByName(ctx, db.DefaultOrganisation)
	if err != nil {
		return err
	}
	return store.Write(ctx, db.Actor{Org: org.Org, ID: "system"}, func(tx *db.Tx) error {
		if _, err := tx.Put("risk", db.Record{"risk_id": name, "description": "a risk of a test"}); err != nil {
			return err
		}
		return tx.Audit(db.AuditEvent{Action: "risk " + name, Category: db.DataChange, Severity: db.SeverityWrite})
	})
}

func risks(t *testing.T, path string) map[string]int {
	t.Helper()
	return testkit.CountSQL(t, path, "SELECT risk_id FROM risks")
}

// withAuditLogs opens a new file with two organisations. The default one has n audit
// events.
func withAuditLogs(t *testing.T, n int) (path string, store *db.DB) {
	t.Helper()
	path = newPath(t)
	store = open(t, path)
	other, err := store.Orgs.Create(t.Context(), operator, "other", db.Enterprise)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for _, by := range []db.Actor{{Org: defaultOrg(t, store).Org, ID: "a"}, {Org: other.Org, ID: "b"}} {
			if by.Org == other.Org && i%2 == 0 {
				continue
			}
			err := store.Write(t.Context(), by, func(tx *db.Tx) error {
				return tx.Audit(db.AuditEvent{Action: fmt.Sprintf("e%d", i+1), Category: db.System})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return path, store
}

// backedUp is a closed file with one risk, and a backup of it.
func backedUp(t *testing.T) (path, saved string) {
	t.Helper()
	path = newPath(t)
	store := open(t, path)
	if err := addRisk(t.Context(), store, "in the backup"); err != nil {
		t.Fatal(err)
	}
	saved = filepath.Join(t.TempDir(), "backup.db")
	if _, err := backup.New(store).Make(t.Context(), saved, false); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path, saved
}

// addRiskAndKill adds a risk to a closed file, and leaves the file as a killed process
// does: with a part of it in the log beside it.
func addRiskAndKill(t *testing.T, path string) {
	t.Helper()
	store := open(t, path)
	if err := addRisk(t.Context(), store, "after the backup"); err != nil {
		t.Fatal(err)
	}
	left := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		left[suffix] = text
	}
	if len(left["-wal"]) == 0 {
		t.Fatal("nothing is left in the log")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for suffix, text := range left {
		testkit.WriteFile(t, path+suffix, string(text))
	}
}
