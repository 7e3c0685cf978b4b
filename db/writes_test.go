package db_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// TestUnauditedChange: what writes without an audit event is refused, and
// leaves nothing; what turns out to write nothing needs none.
func TestUnauditedChange(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, 0)
	by := operator(t, store)
	put := func(tx *db.Tx) error { return putUnaudited(tx, "R") }
	if err := store.Write(t.Context(), by, put); err == nil || !strings.Contains(err.Error(), "no audit event") {
		t.Errorf("unaudited: %v", err)
	}
	if stored := testkit.CountSQL(t, path, "SELECT risk_id FROM risks"); len(stored) > 0 {
		t.Errorf("stored: %v", stored)
	}
	if err := addRisk(t.Context(), store, by, "R"); err != nil {
		t.Fatal(err)
	}
	for what, run := range map[string]func(*db.Tx) error{"nothing": func(*db.Tx) error { return nil }, "the same again": put} {
		if err := store.Write(t.Context(), by, run); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestWaitBound: a writer waits no longer than the bound, be it behind one of
// this process or of another.
func TestWaitBound(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store, other := handle(t, path, 100*time.Millisecond), handle(t, path, time.Minute)
	by := operator(t, store)
	for i, holder := range []*db.DB{store, other} {
		release := hold(t, holder, by)
		began := time.Now()
		err := addRisk(t.Context(), store, by, "none")
		if took := time.Since(began); !db.Is(err, db.Unavailable) || took < 90*time.Millisecond || took > 10*time.Second {
			t.Errorf("behind writer %d: %v after %v", i, err, took)
		}
		release()
		if err := addRisk(t.Context(), store, by, fmt.Sprint("after ", i)); err != nil {
			t.Errorf("after writer %d: %v", i, err)
		}
	}
	if stored := testkit.CountSQL(t, path, "SELECT risk_id FROM risks"); len(stored) != 2 || stored["none"] > 0 {
		t.Errorf("stored: %v", stored)
	}
}

// hold keeps the write transaction of a handle open until release.
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

// TestFairness: among writers that never rest, one that comes now and then gets
// its turn.
func TestFairness(t *testing.T) {
	t.Parallel()
	store := handle(t, newPath(t), 10*time.Second)
	by := operator(t, store)
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
				if err := addRisk(context.Background(), store, by, fmt.Sprint("busy ", writer, " ", i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 10 {
		if err := addRisk(t.Context(), store, by, fmt.Sprint("rare ", i)); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	busy.Wait()
}
