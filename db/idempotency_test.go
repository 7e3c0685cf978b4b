package db_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// responseStore is a store of idempotent responses with a clock.
type responseStore struct {
	*db.DB
	t     *testing.T
	clock *testkit.Clock
	by    db.Actor
}

func newResponseStore(t *testing.T, path string) *responseStore {
	t.Helper()
	s := &responseStore{t: t, clock: testkit.NewClock(testkit.Start)}
	s.DB = testdb.Open(t, db.Options{Path: path, Now: s.clock.Now})
	s.by = testdb.Operator(t, s.DB)
	return s
}

// write adds a risk and stores a response, in one transaction.
func (s *responseStore) write(key, request, body string) error {
	s.t.Helper()
	return s.Write(s.t.Context(), s.by, func(tx *db.Tx) error {
		if err := testdb.PutRisk(tx, fmt.Sprint(key, s.clock.Now())); err != nil {
			return err
		}
		return tx.StoreResponse(s.key(key, request), db.IdempotentResponse{Status: 201, Body: []byte(body)})
	})
}

// writeResponses stores n responses without changing a record.
func (s *responseStore) writeResponses(n int, prefix string, body []byte) {
	s.t.Helper()
	err := s.Write(s.t.Context(), s.by, func(tx *db.Tx) error {
		for i := range n {
			if err := tx.StoreResponse(s.key(fmt.Sprint(prefix, i), "a"), db.IdempotentResponse{Status: 201, Body: body}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *responseStore) key(key, request string) db.IdempotencyKey {
	return db.IdempotencyKey{Org: s.by.Org, Key: key, Request: sha256.Sum256([]byte(request)), Now: s.clock.Now()}
}

// find returns the body stored for a request, "" if there is none.
func (s *responseStore) find(key, request string) string {
	s.t.Helper()
	stored, err := s.Idempotency.Response(s.t.Context(), s.key(key, request))
	switch {
	case err != nil:
		return err.Error()
	case stored == nil:
		return ""
	}
	return string(stored.Body)
}

// TestIdempotency_Retention checks that a response is found for 24 hours, by the same
// request of the same organisation only. A frozen file behaves the same.
func TestIdempotency_Retention(t *testing.T) {
	t.Parallel()
	for _, frozen := range []bool{false, true} {
		s := newResponseStore(t, testdb.EmptyFile(t))
		if frozen {
			s.File.Freeze()
		}
		if err := s.write("k", "a", "first"); err != nil {
			t.Fatal(err)
		}
		if got := s.find("k", "a"); got != "first" {
			t.Errorf("frozen %v: got %q, want the response", frozen, got)
		}
		if _, err := s.Idempotency.Response(t.Context(), s.key("k", "b")); !db.Is(err, db.KeyReused) {
			t.Errorf("frozen %v, another request: got %v, want KeyReused", frozen, err)
		}
		foreign := s.key("k", "a")
		foreign.Org++
		if stored, err := s.Idempotency.Response(t.Context(), foreign); stored != nil || err != nil {
			t.Errorf("frozen %v, another organisation: got %v, %v, want none", frozen, stored, err)
		}
		s.clock.Advance(db.IdempotencyRetention - time.Millisecond)
		if got := s.find("k", "a"); got != "first" {
			t.Errorf("frozen %v, in the last millisecond: got %q, want the response", frozen, got)
		}
		s.clock.Advance(time.Millisecond)
		if got := s.find("k", "b"); got != "" {
			t.Errorf("frozen %v, after 24 hours: got %q, want none", frozen, got)
		}
		if err := s.write("k", "b", "second"); err != nil || s.find("k", "b") != "second" {
			t.Errorf("frozen %v: the key can't be used again: %v", frozen, err)
		}
	}
}

// TestIdempotency_OtherProcess checks that a change is undone if another process has just
// stored a response for its key.
func TestIdempotency_OtherProcess(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	s, other := newResponseStore(t, path), newResponseStore(t, path)
	if err := other.write("k", "a", "first"); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Second)
	if err := s.write("k", "a", "second"); !db.Is(err, db.InFlight) {
		t.Errorf("got %v, want InFlight", err)
	}
	if risks := testdb.Risks(t, path); len(risks) != 1 || s.find("k", "a") != "first" {
		t.Errorf("got risks %v and the response %q, want those of the first request", risks, s.find("k", "a"))
	}
}

// TestIdempotency_FrozenLimit checks that a frozen file keeps a limited number of
// responses and of bytes, and removes the oldest first.
func TestIdempotency_FrozenLimit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ responses, size, kept int }{{10_003, 1, 10_000}, {40, 1 << 20, 32}} {
		s := newResponseStore(t, testdb.EmptyFile(t))
		s.File.Freeze()
		s.writeResponses(row.responses, "", make([]byte, row.size))
		first := row.responses - row.kept
		for i, want := range map[int]bool{0: false, first - 1: false, first: true, row.responses - 1: true} {
			if found := s.find(fmt.Sprint(i), "a") != ""; found != want {
				t.Errorf("number %d of %d responses of %d bytes: found %v, want %v", i, row.responses, row.size, found, want)
			}
		}
	}
}

// TestIdempotency_Sweep checks that a sweep removes thousands of responses in several
// transactions and keeps the recent ones.
func TestIdempotency_Sweep(t *testing.T) {
	t.Parallel()
	s := newResponseStore(t, testdb.EmptyFile(t))
	s.writeResponses(2500, "old", []byte("x"))
	s.clock.Advance(db.IdempotencyRetention)
	s.writeResponses(5, "recent", []byte("x"))
	if err := s.Idempotency.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(-db.IdempotencyRetention) // the old responses would be valid again
	for key, want := range map[string]string{"old0": "", "old2499": "", "recent0": "x", "recent4": "x"} {
		if got := s.find(key, "a"); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}
