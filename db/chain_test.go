package db_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// logged makes a file whose default organisation has n events, and another
// organisation some in between.
func logged(t *testing.T, n int) (path string, store *db.DB, org db.Org) {
	t.Helper()
	path = newPath(t)
	store = handle(t, path, time.Minute)
	other, err := store.Orgs.Create(t.Context(), db.Actor{ID: "system"}, "other", db.Enterprise)
	if err != nil {
		t.Fatal(err)
	}
	org = defaultOrg(t, store).Org
	for i := range n {
		for _, by := range []db.Actor{{Org: org, ID: "a"}, {Org: other.Org, ID: "b"}} {
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
	return path, store, org
}

// TestVerifyAudit alters the log behind the store's back, once the triggers
// that forbid it are gone: the first event that does not fit is named.
func TestVerifyAudit(t *testing.T) {
	t.Parallel()
	const mine = "(SELECT seq FROM audit_events WHERE org_id = 1 AND action = 'e%d')"
	at := func(n int) string { return fmt.Sprintf(mine, n) }
	for name, test := range map[string]struct {
		statement string
		position  int // of the first that does not fit; 0: all is sound
	}{
		"nothing":             {"SELECT 1", 0},
		"an actor":            {"UPDATE audit_events SET event = json_set(event, '$.actor', 'somebody') WHERE seq = " + at(4), 4},
		"white space":         {"UPDATE audit_events SET event = replace(event, ',', ', ') WHERE seq = " + at(6), 6},
		"the first":           {"UPDATE audit_events SET event = replace(event, 'e1', 'e2') WHERE seq = " + at(1), 1},
		"the last":            {"UPDATE audit_events SET event = replace(event, 'e9', 'e8') WHERE seq = " + at(9), 9},
		"a hash":              {"UPDATE audit_events SET hash = zeroblob(32) WHERE seq = " + at(5), 5},
		"two":                 {"UPDATE audit_events SET event = replace(event, 'system', 'export') WHERE org_id = 1 AND seq >= " + at(3), 3},
		"one removed":         {"DELETE FROM audit_events WHERE seq = " + at(4), 4},
		"the first removed":   {"DELETE FROM audit_events WHERE seq = " + at(1), 1},
		"the last removed":    {"DELETE FROM audit_events WHERE seq = " + at(9), 9},
		"the end removed":     {"DELETE FROM audit_events WHERE org_id = 1 AND seq > " + at(5), 6},
		"all removed":         {"DELETE FROM audit_events WHERE org_id = 1", 1},
		"one added":           {"INSERT INTO audit_events (org_id, event, hash) SELECT 1, event, hash FROM audit_events WHERE seq = " + at(2), 10},
		"one moved":           {"UPDATE audit_events SET org_id = 2 WHERE seq = " + at(7), 7},
		"another's altered":   {"UPDATE audit_events SET event = replace(event, 'e2', 'e3') WHERE org_id = 2", 0},
		"two with other's id": {"UPDATE audit_events SET event = (SELECT event FROM audit_events WHERE org_id = 1 AND action = 'e8') WHERE seq = " + at(2), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, store, org := logged(t, 9)
			testkit.ExecSQL(t, path, "DROP TRIGGER audit_events_never_change", "DROP TRIGGER audit_events_never_go", test.statement)
			sound, broken, err := store.Audit.Verify(t.Context(), org)
			if err != nil {
				t.Fatal(err)
			}
			position, want := 0, test.position-1
			if broken != nil {
				position = broken.Position
			}
			if test.position == 0 {
				want = 9
			}
			if position != test.position || sound != want {
				t.Errorf("broken at %d, want %d; %d sound, want %d", position, test.position, sound, want)
			}
		})
	}
}

// TestAuditTriggers: the file itself refuses to change its log.
func TestAuditTriggers(t *testing.T) {
	t.Parallel()
	path, _, _ := logged(t, 2)
	for _, statement := range []string{
		"UPDATE audit_events SET event = event", "DELETE FROM audit_events", "DELETE FROM audit_events WHERE seq = 1",
		"UPDATE audit_events SET hash = zeroblob(32) WHERE seq = 2",
	} {
		if _, err := testkit.OpenSQL(t, path).ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s went through", statement)
		}
	}
}

// TestSoundAfterRollbacks: changes that failed, alone or in company, leave no
// gap that would look like a lost end; a copy of the file is as sound.
func TestSoundAfterRollbacks(t *testing.T) {
	t.Parallel()
	path, store, org := logged(t, 3)
	fail := func(action string) {
		err := store.Write(context.Background(), db.Actor{Org: org, ID: "a"}, func(tx *db.Tx) error {
			return errors.Join(tx.Audit(db.AuditEvent{Action: action}), errRefused)
		})
		if !errors.Is(err, errRefused) {
			t.Error(err)
		}
	}
	fail("alone")
	var done sync.WaitGroup
	for i := range 20 {
		done.Go(func() { fail(fmt.Sprint("in company ", i)) })
	}
	done.Wait()
	copied := path + ".copy"
	if _, err := testkit.OpenSQL(t, path).ExecContext(t.Context(), "VACUUM INTO ?", copied); err != nil {
		t.Fatal(err)
	}
	for _, store := range []*db.DB{store, handle(t, path, time.Minute), handle(t, copied, time.Minute)} {
		if sound, broken, err := store.Audit.Verify(t.Context(), org); sound != 3 || broken != nil || err != nil {
			t.Errorf("%s: %d sound, broken %v, %v", store.Path(), sound, broken, err)
		}
	}
}

// TestSoundBesideRollbacks lets changes that fail share transactions with
// changes that do not. The events of the latter form one sound chain.
func TestSoundBesideRollbacks(t *testing.T) {
	t.Parallel()
	_, store, org := logged(t, 1)
	var done sync.WaitGroup
	for i := range 60 {
		done.Go(func() {
			refuse := i%3 > 0
			err := store.Write(context.Background(), db.Actor{Org: org, ID: "a"}, func(tx *db.Tx) error {
				for n := range 3 {
					if err := tx.Audit(db.AuditEvent{Action: fmt.Sprint(i, " ", n)}); err != nil {
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
	if sound, broken, err := store.Audit.Verify(t.Context(), org); sound != 1+3*20 || broken != nil || err != nil {
		t.Errorf("%d sound, broken %v, %v", sound, broken, err)
	}
}
