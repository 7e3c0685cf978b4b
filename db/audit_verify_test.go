package db_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// verifyAudit checks the audit log of an organisation.
func verifyAudit(t *testing.T, store *db.DB, org db.Org, events int) {
	t.Helper()
	if intact, broken, err := store.Audit.Verify(t.Context(), org); intact != events || broken != nil || err != nil {
		t.Errorf("the audit log of %s: got %d valid events, broken %v, %v, want %d valid ones", store.File.Path(), intact, broken, err, events)
	}
}

// TestAudit_Verify changes an audit log with SQL, without the triggers that refuse this.
// Verify returns the position of the first event that does not match.
func TestAudit_Verify(t *testing.T) {
	t.Parallel()
	seq := func(n int) string {
		return fmt.Sprintf("(SELECT seq FROM audit_events WHERE org_id = 1 AND action = 'e%d')", n)
	}
	for name, row := range map[string]struct {
		statement string
		position  int // of the first event that does not match; 0 if there is none
	}{
		"nothing":                    {"SELECT 1", 0},
		"an actor":                   {"UPDATE audit_events SET event = json_set(event, '$.actor', 'somebody') WHERE seq = " + seq(4), 4},
		"white space":                {"UPDATE audit_events SET event = replace(event, ',', ', ') WHERE seq = " + seq(6), 6},
		"the first":                  {"UPDATE audit_events SET event = replace(event, 'e1', 'e2') WHERE seq = " + seq(1), 1},
		"the last":                   {"UPDATE audit_events SET event = replace(event, 'e9', 'e8') WHERE seq = " + seq(9), 9},
		"a hash":                     {"UPDATE audit_events SET hash = zeroblob(32) WHERE seq = " + seq(5), 5},
		"two":                        {"UPDATE audit_events SET event = replace(event, 'system', 'export') WHERE org_id = 1 AND seq >= " + seq(3), 3},
		"one removed":                {"DELETE FROM audit_events WHERE seq = " + seq(4), 4},
		"the first removed":          {"DELETE FROM audit_events WHERE seq = " + seq(1), 1},
		"the last removed":           {"DELETE FROM audit_events WHERE seq = " + seq(9), 9},
		"the end removed":            {"DELETE FROM audit_events WHERE org_id = 1 AND seq > " + seq(5), 6},
		"all removed":                {"DELETE FROM audit_events WHERE org_id = 1", 1},
		"one added":                  {"INSERT INTO audit_events (org_id, event, hash) SELECT 1, event, hash FROM audit_events WHERE seq = " + seq(2), 10},
		"one moved":                  {"UPDATE audit_events SET org_id = 2 WHERE seq = " + seq(7), 7},
		"another organisation's log": {"UPDATE audit_events SET event = replace(event, 'e2', 'e3') WHERE org_id = 2", 0},
		"the id of another":          {"UPDATE audit_events SET event = (SELECT event FROM audit_events WHERE org_id = 1 AND action = 'e8') WHERE seq = " + seq(2), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testdb.OpenWithEvents(t, 9)
			testkit.ExecSQL(t, store.File.Path(), "DROP TRIGGER audit_events_never_change", "DROP TRIGGER audit_events_never_go", row.statement)
			intact, broken, err := store.Audit.Verify(t.Context(), testdb.DefaultOrg(t, store).Org)
			if err != nil {
				t.Fatal(err)
			}
			position, want := 0, row.position-1
			if broken != nil {
				position = broken.Position
			}
			if row.position == 0 {
				want = 9
			}
			if position != row.position || intact != want {
				t.Errorf("got position %d and %d valid events, want %d and %d", position, intact, row.position, want)
			}
		})
	}
}

// TestAudit_Triggers checks that the data file refuses changes of its audit log.
func TestAudit_Triggers(t *testing.T) {
	t.Parallel()
	path := testdb.OpenWithEvents(t, 2).File.Path()
	for _, statement := range []string{
		"UPDATE audit_events SET event = event", "DELETE FROM audit_events", "DELETE FROM audit_events WHERE seq = 1",
		"UPDATE audit_events SET hash = zeroblob(32) WHERE seq = 2",
	} {
		if _, err := testkit.OpenSQL(t, path).ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s: got no error", statement)
		}
	}
}

// TestAudit_AfterRollbacks checks that changes that fail, alone or in a shared
// transaction, leave no gap that looks like removed events. A copy of the file is valid
// too.
func TestAudit_AfterRollbacks(t *testing.T) {
	t.Parallel()
	store := testdb.OpenWithEvents(t, 3)
	path, org := store.File.Path(), testdb.DefaultOrg(t, store).Org
	fail := func(action string) {
		err := store.Write(context.Background(), db.Actor{Org: org, ID: "a"}, func(tx *db.Tx) error {
			return errors.Join(tx.Audit(audit.Event{Action: action}), errRefused)
		})
		if !errors.Is(err, errRefused) {
			t.Error(err)
		}
	}
	fail("alone")
	var done sync.WaitGroup
	for i := range 20 {
		done.Go(func() { fail(fmt.Sprint("together ", i)) })
	}
	done.Wait()
	copied := path + ".copy"
	if _, err := testkit.OpenSQL(t, path).ExecContext(t.Context(), "VACUUM INTO ?", copied); err != nil {
		t.Fatal(err)
	}
	for _, store := range []*db.DB{store, open(t, path), open(t, copied)} {
		verifyAudit(t, store, org, 3)
	}
}

// TestAudit_BesideRollbacks lets changes that fail share transactions with changes that
// succeed. The events of the latter form one valid chain.
func TestAudit_BesideRollbacks(t *testing.T) {
	t.Parallel()
	store := testdb.OpenWithEvents(t, 1)
	org := testdb.DefaultOrg(t, store).Org
	var done sync.WaitGroup
	for i := range 60 {
		done.Go(func() {
			refuse := i%3 > 0
			err := store.Write(context.Background(), db.Actor{Org: org, ID: "a"}, func(tx *db.Tx) error {
				for n := range 3 {
					if err := tx.Audit(audit.Event{Action: fmt.Sprint(i, " ", n)}); err != nil {
						return err
					}
				}
				if refuse {
					return errRefused
				}
				return nil
			})
			if refuse != errors.Is(err, errRefused) || !refuse && err != nil {
				t.Error(i, err)
			}
		})
	}
	done.Wait()
	verifyAudit(t, store, org, 1+3*20)
}
