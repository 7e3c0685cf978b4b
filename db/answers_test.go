package db_test

import (
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// writer is a handle on a data file, with a clock that stands until it is moved.
type writer struct {
	*testing.T
	*db.DB
	by     db.Actor
	passed *atomic.Int64 // since at
}

func newWriter(t *testing.T, path string) *writer {
	t.Helper()
	w := &writer{T: t, passed: new(atomic.Int64)}
	var err error
	if w.DB, err = db.Open(t.Context(), db.Options{Path: path, Now: w.clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	w.by = operator(t, w.DB)
	return w
}

func (w *writer) clock() time.Time { return at.Add(time.Duration(w.passed.Load())) }

func (w *writer) advance(d time.Duration) { w.passed.Add(int64(d)) }

// keep makes a risk and keeps an answer for it.
func (w *writer) keep(key, request, body string) error {
	w.Helper()
	return w.Write(w.Context(), w.by, func(tx *db.Tx) error {
		if err := putRisk(tx, fmt.Sprint(key, w.clock())); err != nil {
			return err
		}
		return tx.StoreResponse(w.key(key, request), db.IdempotentResponse{Status: 201, Body: []byte(body)})
	})
}

func (w *writer) key(key, request string) db.IdempotencyKey {
	return db.IdempotencyKey{Org: w.by.Org, Key: key, Request: sha256.Sum256([]byte(request)), Now: w.clock()}
}

// find is the body kept for a request, "" where there is none.
func (w *writer) find(key, request string) string {
	w.Helper()
	kept, err := w.Idempotency.Response(w.Context(), w.key(key, request))
	switch {
	case err != nil:
		return err.Error()
	case kept == nil:
		return ""
	}
	return string(kept.Body)
}

// TestKeptAnswers: an answer is found for 24 hours, by the same request only,
// and gives way to none before; both in a file and in a frozen one.
func TestKeptAnswers(t *testing.T) {
	t.Parallel()
	for _, frozen := range []bool{false, true} {
		w := newWriter(t, newPath(t))
		if frozen {
			w.Freeze()
		}
		if err := w.keep("k", "a", "first"); err != nil {
			t.Fatal(err)
		}
		if got := w.find("k", "a"); got != "first" {
			t.Errorf("frozen %v: %q", frozen, got)
		}
		if _, err := w.Idempotency.Response(t.Context(), w.key("k", "b")); !db.Is(err, db.KeyReused) {
			t.Errorf("frozen %v: another request: %v", frozen, err)
		}
		foreign := w.key("k", "a")
		foreign.Org++
		if kept, err := w.Idempotency.Response(t.Context(), foreign); kept != nil || err != nil {
			t.Errorf("frozen %v: another organisation: %v, %v", frozen, kept, err)
		}
		w.advance(db.IdempotencyRetention - time.Millisecond)
		if got := w.find("k", "a"); got != "first" {
			t.Errorf("frozen %v: at the end: %q", frozen, got)
		}
		w.advance(time.Millisecond)
		if got := w.find("k", "b"); got != "" {
			t.Errorf("frozen %v: after the end: %q", frozen, got)
		}
		if err := w.keep("k", "b", "second"); err != nil || w.find("k", "b") != "second" {
			t.Errorf("frozen %v: the key is not free again: %v", frozen, err)
		}
	}
}

// TestKeptTwice: a change whose key another process has just used is undone.
func TestKeptTwice(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	w, other := newWriter(t, path), newWriter(t, path)
	if err := other.keep("k", "a", "first"); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Second)
	if err := w.keep("k", "a", "second"); !db.Is(err, db.InFlight) {
		t.Errorf("%v, want InFlight", err)
	}
	if stored := testkit.CountSQL(t, path, "SELECT risk_id FROM risks"); len(stored) != 1 || w.find("k", "a") != "first" {
		t.Errorf("stored: %v, %s", stored, w.find("k", "a"))
	}
}

// TestFrozenBound: a frozen file keeps so many answers, and so many bytes of
// them; the oldest give way.
func TestFrozenBound(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ answers, size, kept int }{{10_003, 1, 10_000}, {40, 1 << 20, 32}} {
		w := newWriter(t, newPath(t))
		w.Freeze()
		body := make([]byte, row.size)
		err := w.Write(t.Context(), w.by, func(tx *db.Tx) error {
			for i := range row.answers {
				if err := tx.StoreResponse(w.key(fmt.Sprint(i), "a"), db.IdempotentResponse{Status: 201, Body: body}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		first := row.answers - row.kept
		for i, want := range map[int]bool{0: false, first - 1: false, first: true, row.answers - 1: true} {
			if kept := w.find(fmt.Sprint(i), "a") != ""; kept != want {
				t.Errorf("of %d answers of %d bytes, number %d: kept %v", row.answers, row.size, i, kept)
			}
		}
	}
}

// TestSweepAnswers removes thousands in several transactions, the young stay.
func TestSweepAnswers(t *testing.T) {
	t.Parallel()
	w := newWriter(t, newPath(t))
	fill := func(prefix string, n int) {
		t.Helper()
		err := w.Write(t.Context(), w.by, func(tx *db.Tx) error {
			for i := range n {
				if err := tx.StoreResponse(w.key(fmt.Sprint(prefix, i), "a"), db.IdempotentResponse{Status: 201, Body: []byte("x")}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fill("old", 2500)
	w.advance(db.IdempotencyRetention)
	fill("young", 5)
	if err := w.Idempotency.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.advance(-db.IdempotencyRetention) // as if the old were still replayed
	for key, want := range map[string]string{"old0": "", "old2499": "", "young0": "x", "young4": "x"} {
		if got := w.find(key, "a"); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}
