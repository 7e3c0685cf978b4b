package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
)

var errRefused = errors.New("refused by the test")

// TestManyWriters writes from many goroutines through two handles on one file.
// Some changes fail, panic, or tell the audit log nothing; each that was
// acknowledged is there with its audit event, of the others nothing is.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	stores := []*db.DB{handle(t, path, time.Minute), handle(t, path, time.Minute)}
	by := operator(t, stores[0])
	subscribe(t, path)
	var done sync.WaitGroup
	var mutex sync.Mutex
	want := map[string]int{}
	for writer := range 16 {
		store := stores[writer%2]
		done.Go(func() {
			for i := range 8 {
				name := fmt.Sprintf("R-%02d-%02d", writer, i)
				panicked, err := outcome(store, by, name, (writer+i)%5)
				if err == nil && panicked == nil {
					mutex.Lock()
					want[name] = 1
					mutex.Unlock()
				}
				if fault := unexpected(err, panicked, (writer+i)%5); fault != "" {
					t.Errorf("%s: %s", name, fault)
				}
			}
		})
	}
	done.Wait()
	if diff := cmp.Diff(want, testkit.CountSQL(t, path, "SELECT risk_id FROM risks")); diff != "" {
		t.Errorf("risks (-acknowledged +stored):\n%s", diff)
	}
	audited := testkit.CountSQL(t, path, "SELECT substr(action, 6) FROM audit_events WHERE action LIKE 'risk R-%'")
	if diff := cmp.Diff(want, audited); diff != "" {
		t.Errorf("audit events (-acknowledged +stored):\n%s", diff)
	}
	raised := testkit.CountSQL(t, path, "SELECT body ->> '$.data.risk.risk_id' FROM events WHERE type = 'risk.created'")
	if diff := cmp.Diff(want, raised); diff != "" {
		t.Errorf("events (-acknowledged +stored):\n%s", diff)
	}
	if sound, broken, err := stores[1].Audit.Verify(t.Context(), by.Org); err != nil || broken != nil || sound < len(want) {
		t.Errorf("the audit log: %d sound, broken %v, %v", sound, broken, err)
	}
}

// outcome brings one change, of one of five kinds, through the door.
func outcome(store *db.DB, by db.Actor, name string, kind int) (panicked any, err error) {
	defer func() { panicked = recover() }()
	return nil, store.Write(context.Background(), by, func(tx *db.Tx) error {
		switch kind {
		case 1: // fails after it has written
			return errors.Join(putRisk(tx, name), errRefused)
		case 2:
			if err := putRisk(tx, name); err != nil {
				return err
			}
			panic("a panic of " + name)
		case 3:
			return putUnaudited(tx, name)
		}
		return putRisk(tx, name)
	})
}

func unexpected(err error, panicked any, kind int) string {
	switch {
	case kind == 1 && !errors.Is(err, errRefused):
		return fmt.Sprint("the failure is told as ", err)
	case kind == 2 && !strings.HasPrefix(fmt.Sprint(panicked), "a panic of"):
		return fmt.Sprint("the panic is told as ", panicked)
	case kind == 3 && (err == nil || !strings.Contains(err.Error(), "no audit event")):
		return fmt.Sprint("a change without an audit event: ", err)
	case (kind == 0 || kind == 4) && err != nil:
		return err.Error()
	}
	return ""
}

// TestSameChange writes the very same record from everywhere: one is created,
// the others change nothing.
func TestSameChange(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	stores := []*db.DB{handle(t, path, time.Minute), handle(t, path, time.Minute)}
	by := operator(t, stores[0])
	var done sync.WaitGroup
	outcomes := make(chan db.Outcome, 40)
	for i := range cap(outcomes) {
		done.Go(func() {
			err := stores[i%2].Write(context.Background(), by, func(tx *db.Tx) error {
				made, err := tx.Put("risk", db.Record{"risk_id": "R", "description": "the same for all"})
				outcomes <- made
				return errors.Join(err, tx.Audit(db.AuditEvent{Action: "put"}))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	close(outcomes)
	count := map[db.Outcome]int{}
	for o := range outcomes {
		count[o]++
	}
	if count[db.Created] != 1 || count[db.Updated] != 0 {
		t.Errorf("created %d times, updated %d times", count[db.Created], count[db.Updated])
	}
}

// TestCancelledWriters cancels writers that wait for their turn: they leave
// nothing, and hold up nobody.
func TestCancelledWriters(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Minute)
	by := operator(t, store)
	inside, release := make(chan bool), make(chan bool)
	var done sync.WaitGroup
	done.Go(func() {
		err := store.Write(context.Background(), by, func(tx *db.Tx) error {
			close(inside)
			<-release
			return putRisk(tx, "first")
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	ended, end := context.WithCancel(t.Context())
	end()
	for i := range 5 {
		done.Go(func() {
			if err := addRisk(context.Background(), store, by, fmt.Sprint("kept ", i)); err != nil {
				t.Error(err)
			}
		})
		if err := addRisk(ended, store, by, fmt.Sprint("ended ", i)); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	late := make(chan error, 1)
	done.Go(func() { late <- addRisk(ctx, store, by, "cancelled late") })
	time.Sleep(20 * time.Millisecond) // so that it waits; it must fail either way
	cancel()
	if err := <-late; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it waited: %v", err)
	}
	close(release)
	done.Wait()
	want := map[string]int{"first": 1}
	for i := range 5 {
		want[fmt.Sprint("kept ", i)] = 1
	}
	if diff := cmp.Diff(want, testkit.CountSQL(t, path, "SELECT risk_id FROM risks")); diff != "" {
		t.Errorf("(-want +stored):\n%s", diff)
	}
}

// TestLockedFile holds the write lock as another process past the bound: a
// write is Unavailable and does nothing, reads go on, and after it all is well.
func TestLockedFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Second)
	by := operator(t, store)
	if err := addRisk(t.Context(), store, by, "before"); err != nil {
		t.Fatal(err)
	}
	other, err := testkit.OpenSQL(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			if err := addRisk(t.Context(), store, by, fmt.Sprint("locked out ", i)); !db.Is(err, db.Unavailable) {
				t.Errorf("while locked: %v", err)
			}
		})
	}
	for range 20 {
		page, err := store.List(t.Context(), defaultOrg(t, store), resource.Risk, db.ListQuery{Limit: 5})
		if err != nil || !strings.Contains(page.Rows, `"before"`) {
			t.Errorf("a read while locked: %s, %v", page.Rows, err)
		}
	}
	done.Wait()
	if err := store.Ready(t.Context()); err == nil {
		t.Error("ready while it can't be written")
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := addRisk(t.Context(), store, by, "after"); err != nil {
		t.Errorf("after the lock: %v", err)
	}
	if diff := cmp.Diff(map[string]int{"before": 1, "after": 1}, testkit.CountSQL(t, path, "SELECT risk_id FROM risks")); diff != "" {
		t.Errorf("(-want +stored):\n%s", diff)
	}
	if err := store.Ready(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

// TestReady_BesideLongReads holds all connections of the pool for long reads. A
// probe uses another pool and does not wait for them.
func TestReady_BesideLongReads(t *testing.T) {
	t.Parallel()
	store := handle(t, newPath(t), time.Minute)
	var hold func(more int) error
	hold = func(more int) error {
		return store.Snapshot(t.Context(), func(*db.Snapshot) error {
			if more > 1 {
				return hold(more - 1)
			}
			return store.Ready(t.Context())
		})
	}
	if err := hold(2); err != nil {
		t.Fatal(err)
	}
	// a third long read waits, and ends when its caller leaves
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := store.Snapshot(ctx, func(*db.Snapshot) error {
		return store.Snapshot(ctx, func(*db.Snapshot) error {
			return store.Snapshot(ctx, func(*db.Snapshot) error { return nil })
		})
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the third read waits", err)
	}
}

// TestBriefLock waits for another process that is done within the bound.
func TestBriefLock(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Minute)
	by := operator(t, store)
	other, err := testkit.OpenSQL(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = other.Rollback() })
	if err := addRisk(t.Context(), store, by, "patient"); err != nil {
		t.Error(err)
	}
}

// TestReadersSeeCommits: another handle sees a change at once, and a reader
// inside a change sees nothing of it.
func TestReadersSeeCommits(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	writer, reader := handle(t, path, time.Minute), handle(t, path, time.Minute)
	by, org := operator(t, writer), defaultOrg(t, writer)
	shown := func(name string) bool {
		page, err := reader.List(context.Background(), org, resource.Risk, db.ListQuery{Limit: 100})
		if err != nil {
			t.Error(err)
		}
		return strings.Contains(page.Rows, `"`+name+`"`)
	}
	for i := range 20 {
		name := fmt.Sprint("R-", i)
		err := writer.Write(t.Context(), by, func(tx *db.Tx) error {
			err := putRisk(tx, name)
			if shown(name) {
				t.Errorf("%s is shown before it is committed", name)
			}
			return err
		})
		if err != nil || !shown(name) {
			t.Errorf("%s is not shown once it is committed: %v", name, err)
		}
	}
}

// TestFrozen computes answers and keeps nothing.
func TestFrozen(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Minute)
	by := operator(t, store)
	if err := addRisk(t.Context(), store, by, "kept"); err != nil {
		t.Fatal(err)
	}
	store.Freeze()
	var done sync.WaitGroup
	for i := range 10 {
		done.Go(func() {
			if err := addRisk(t.Context(), store, by, fmt.Sprint("gone ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if diff := cmp.Diff(map[string]int{"kept": 1}, testkit.CountSQL(t, path, "SELECT risk_id FROM risks")); diff != "" {
		t.Errorf("(-want +stored):\n%s", diff)
	}
}
