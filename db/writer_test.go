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
	"govsvc/db/audit"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

var errRefused = errors.New("refused by the test")

// TestWrite_Concurrent writes from many goroutines through two stores of one file. Some
// changes fail, panic or have no audit event. Each acknowledged change is stored with its
// events, and nothing of the others is.
func TestWrite_Concurrent(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	stores := []*db.DB{open(t, path), open(t, path)}
	by := testdb.Operator(t, stores[0])
	testdb.Subscribe(t, path)
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
	if diff := cmp.Diff(want, testdb.Risks(t, path)); diff != "" {
		t.Errorf("risks (-acknowledged +stored):\n%s", diff)
	}
	audited := testkit.CountSQL(t, path, "SELECT substr(action, 6) FROM audit_events WHERE action LIKE 'risk R-%'")
	if diff := cmp.Diff(want, audited); diff != "" {
		t.Errorf("audit events (-acknowledged +stored):\n%s", diff)
	}
	enqueued := testkit.CountSQL(t, path, "SELECT body ->> '$.data.risk.risk_id' FROM events WHERE type = 'risk.created'")
	if diff := cmp.Diff(want, enqueued); diff != "" {
		t.Errorf("events (-acknowledged +stored):\n%s", diff)
	}
	if intact, broken, err := stores[1].Audit.Verify(t.Context(), by.Org); err != nil || broken != nil || intact < len(want) {
		t.Errorf("the audit log: %d intact, broken %v, %v", intact, broken, err)
	}
}

// outcome writes a change of one of five kinds.
func outcome(store *db.DB, by db.Actor, name string, kind int) (panicked any, err error) {
	defer func() { panicked = recover() }()
	return nil, store.Write(context.Background(), by, func(tx *db.Tx) error {
		switch kind {
		case 1: // fails after it has written
			return errors.Join(testdb.PutRisk(tx, name), errRefused)
		case 2:
			if err := testdb.PutRisk(tx, name); err != nil {
				return err
			}
			panic("a panic of " + name)
		case 3:
			return testdb.PutUnaudited(tx, name)
		}
		return testdb.PutRisk(tx, name)
	})
}

func unexpected(err error, panicked any, kind int) string {
	switch {
	case kind == 1 && !errors.Is(err, errRefused):
		return fmt.Sprint("the failure is reported as ", err)
	case kind == 2 && !strings.HasPrefix(fmt.Sprint(panicked), "a panic of"):
		return fmt.Sprint("the panic is reported as ", panicked)
	case kind == 3 && (err == nil || !strings.Contains(err.Error(), "no audit event")):
		return fmt.Sprint("a change without an audit event: ", err)
	case (kind == 0 || kind == 4) && err != nil:
		return err.Error()
	}
	return ""
}

// TestWrite_SameRecord writes the same record from many goroutines. One creates it, and
// the others change nothing.
func TestWrite_SameRecord(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	stores := []*db.DB{open(t, path), open(t, path)}
	by := testdb.Operator(t, stores[0])
	var done sync.WaitGroup
	outcomes := make(chan db.Outcome, 40)
	for i := range cap(outcomes) {
		done.Go(func() {
			err := stores[i%2].Write(context.Background(), by, func(tx *db.Tx) error {
				made, err := tx.Put("risk", db.Record{"risk_id": "R", "description": "the same for all"})
				outcomes <- made
				return errors.Join(err, tx.Audit(audit.Event{Action: "put"}))
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

// TestWrite_Locked holds the write lock of another process beyond the bound. Writes are
// Unavailable and store nothing, and reads continue. Afterwards writes succeed.
func TestWrite_Locked(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store := testdb.Open(t, db.Options{Path: path, Wait: time.Second})
	if err := testdb.AddRisk(t.Context(), store, "before"); err != nil {
		t.Fatal(err)
	}
	other, err := testkit.OpenSQL(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			if err := testdb.AddRisk(t.Context(), store, fmt.Sprint("locked out ", i)); !db.Is(err, db.Unavailable) {
				t.Errorf("while locked: %v", err)
			}
		})
	}
	for range 20 {
		page, err := store.List(t.Context(), testdb.DefaultOrg(t, store), resource.Risk, db.ListQuery{Limit: 5})
		if err != nil || !strings.Contains(string(page.Rows), `"before"`) {
			t.Errorf("a read while locked: %s, %v", page.Rows, err)
		}
	}
	done.Wait()
	if err := store.File.Ready(t.Context()); err == nil {
		t.Error("ready while it can't be written")
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := testdb.AddRisk(t.Context(), store, "after"); err != nil {
		t.Errorf("after the lock: %v", err)
	}
	if diff := cmp.Diff(map[string]int{"before": 1, "after": 1}, testdb.Risks(t, path)); diff != "" {
		t.Errorf("(-want +stored):\n%s", diff)
	}
	if err := store.File.Ready(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

// TestReady_BesideLongReads holds all connections of the pool for long reads. A
// probe uses another pool and does not wait for them.
func TestReady_BesideLongReads(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	var hold func(more int) error
	hold = func(more int) error {
		return store.Snapshot(t.Context(), func(*db.Snapshot) error {
			if more > 1 {
				return hold(more - 1)
			}
			return store.File.Ready(t.Context())
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

// TestWrite_Unaudited refuses a change that writes without an audit event. A change that
// writes nothing needs none.
func TestWrite_Unaudited(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store := open(t, path)
	by := testdb.Operator(t, store)
	put := func(tx *db.Tx) error { return testdb.PutUnaudited(tx, "R") }
	if err := store.Write(t.Context(), by, put); err == nil || !strings.Contains(err.Error(), "no audit event") {
		t.Errorf("unaudited: %v", err)
	}
	if stored := testdb.Risks(t, path); len(stored) > 0 {
		t.Errorf("stored: %v", stored)
	}
	if err := testdb.AddRisk(t.Context(), store, "R"); err != nil {
		t.Fatal(err)
	}
	for what, run := range map[string]func(*db.Tx) error{"nothing": func(*db.Tx) error { return nil }, "the same again": put} {
		if err := store.Write(t.Context(), by, run); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestWrite_WaitBound bounds the wait for other writes, of this process or another.
func TestWrite_WaitBound(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store, other := testdb.Open(t, db.Options{Path: path, Wait: 100 * time.Millisecond}), open(t, path)
	by := testdb.Operator(t, store)
	for i, holder := range []*db.DB{store, other} {
		release := hold(t, holder, by)
		began := time.Now()
		err := testdb.AddRisk(t.Context(), store, "none")
		if took := time.Since(began); !db.Is(err, db.Unavailable) || took < 90*time.Millisecond || took > 10*time.Second {
			t.Errorf("behind writer %d: %v after %v", i, err, took)
		}
		release()
		if err := testdb.AddRisk(t.Context(), store, fmt.Sprint("after ", i)); err != nil {
			t.Errorf("after writer %d: %v", i, err)
		}
	}
	if stored := testdb.Risks(t, path); len(stored) != 2 || stored["none"] > 0 {
		t.Errorf("stored: %v", stored)
	}
}

// hold keeps the write transaction of a store open until release.
func hold(t *testing.T, store *db.DB, by db.Actor) (release func()) {
	t.Helper()
	inside, leave, done := make(chan bool), make(chan bool), make(chan error)
	go func() {
		done <- store.Write(context.Background(), by, func(*db.Tx) error {
			close(inside)
			<-leave
			return nil
		})
	}()
	<-inside
	return func() {
		close(leave)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestWrite_Fair lets a writer that comes rarely succeed among writers that never pause.
func TestWrite_Fair(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, db.Options{Wait: 10 * time.Second})
	stop := make(chan bool)
	var busy sync.WaitGroup
	for writer := range 32 {
		busy.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := testdb.AddRisk(context.Background(), store, fmt.Sprint("busy ", writer, " ", i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 10 {
		if err := testdb.AddRisk(t.Context(), store, fmt.Sprint("rare ", i)); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	busy.Wait()
}
