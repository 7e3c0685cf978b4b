package server_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"govsvc/db"
)

// limits returns the headers of a rate limit: a minute, remaining, seconds until the
// bucket is full, a day.
func limits(minute, remaining, full, day int) []string {
	return []string{
		fmt.Sprintf("X-Ratelimit-Limit: %d\r", minute), fmt.Sprintf("X-Ratelimit-Remaining: %d\r", remaining),
		fmt.Sprintf("X-Ratelimit-Reset: %d\r", start.Unix()+int64(full)), fmt.Sprintf("X-Ratelimit-Limit-Day: %d\r", day),
	}
}

// TestRateLimit_RefillsBucket uses up a limit of 5 requests per minute, waits for the
// time in Retry-After, and is served again.
func TestRateLimit_RefillsBucket(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, key := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(5)})
	_, other := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(5)})
	const day = 1_000_000
	spent := row{path: "/risks", key: key, status: 429, code: "rate_limit_exceeded"}
	wait := func(seconds string, left []string) row {
		r := spent
		r.has = append(left, "Retry-After: "+seconds+"\r")
		return r
	}
	s.run(t, []row{
		{path: "/risks", key: key, has: limits(5, 4, 12, day)},
		{path: "/risks?limit=0", key: key, status: 400, code: "invalid_parameter", param: "limit", has: limits(5, 3, 24, day)},
		{path: "/kpis", key: key, status: 403, code: "insufficient_scope", has: limits(5, 2, 36, day)},
		{path: "/risks", key: key, header: header("Service-Version", "x"), status: 400, code: "unsupported_version", param: "Service-Version", has: limits(5, 1, 48, day)},
		{path: "/risks", key: key, has: limits(5, 0, 60, day)},
		wait("12", limits(5, 0, 60, day)),
		wait("12", limits(5, 0, 60, day)), // a refusal costs nothing
		{path: "/risks", key: other, has: limits(5, 4, 12, day)},
	})
	s.clock.Advance(11*time.Second + 999*time.Millisecond)
	s.ask(t, wait("1", limits(5, 0, 60, day)))
	s.clock.Advance(time.Millisecond)
	s.ask(t, row{path: "/risks", key: key, has: limits(5, 0, 72, day)})
	s.clock.Advance(time.Hour)
	s.ask(t, row{path: "/risks", key: key, has: limits(5, 4, 3600+24, day)})
}

// TestRateLimit_IgnoresRefusedByPlan checks that a request that the plan or the
// subscription refuses returns the headers of the rate limit and does not count towards
// it.
func TestRateLimit_IgnoresRefusedByPlan(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, key := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(2), PerDay: new(9)})
	s.setPlan(t, db.Starter, db.Active)
	for range 3 {
		s.ask(t, row{path: "/risks", key: key, status: 403, code: "tier_required", has: limits(2, 2, 0, 9)})
	}
	s.setPlan(t, db.Enterprise, db.Canceled)
	s.ask(t, row{path: "/risks", key: key, status: 403, code: "subscription_inactive", has: limits(2, 2, 0, 9)})
	s.setPlan(t, db.Enterprise, db.Active)
	s.ask(t, row{path: "/risks", key: key, has: limits(2, 1, 30, 9)})
}

// TestRateLimit_DayCap uses up the requests of a day. The count survives a restart. It
// ends after 24 hours and the rest of its minute.
func TestRateLimit_DayCap(t *testing.T) {
	t.Parallel()
	s := serve(t)
	path, c := s.store.File.Path(), s.clock
	made, key := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(60), PerDay: new(3)})
	s.ask(t, row{path: "/risks", key: key, has: limits(60, 2, 1, 3)}) // the remainder of the day, which is less than that of the minute
	s.get(t, "/risks", key)
	s.flush(t)
	s.get(t, "/risks", key)
	const slot = 60
	spent := row{path: "/risks", key: key, status: 429, code: "rate_limit_exceeded", has: []string{"Retry-After: " + strconv.Itoa(86400+slot) + "\r"}}
	s.ask(t, spent)
	s.flush(t)

	again := serveFile(t, path, c)
	spent.has = append(spent.has, "X-Ratelimit-Remaining: 0\r")
	again.ask(t, spent)
	again.restart(t)
	again.ask(t, spent)
	if used := lastUse(t, again.store, made); used != stored(start) {
		t.Errorf("the last use is kept as %q", used)
	}
	c.Advance(24*time.Hour + slot*time.Second - time.Second)
	spent.has = []string{"Retry-After: 1\r"}
	again.ask(t, spent)
	c.Advance(time.Second)
	again.ask(t, row{path: "/risks", key: key, has: []string{"X-Ratelimit-Remaining: 2\r"}})
}

// flush runs the server's periodic work once, which stores its counts.
func (s *service) flush(t testing.TB) {
	t.Helper()
	if err := s.tryFlush(t); err != nil {
		t.Fatal(err)
	}
}

func (s *service) tryFlush(t testing.TB) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return s.server.Run(ctx)
}

// TestRateLimit_CountsSurviveLockedFile stores the counts while the file is locked. No
// count is lost.
func TestRateLimit_CountsSurviveLockedFile(t *testing.T) {
	t.Parallel()
	s := serveWaiting(t)
	made, key := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerDay: new(2)})
	s.get(t, "/risks", key)
	s.get(t, "/risks", key)
	release := lock(t, s.store.File.Path())
	if err := s.tryFlush(t); !db.Is(err, db.Unavailable) {
		t.Errorf("flushed into a locked file: %v", err)
	}
	release()
	s.flush(t)
	s.restart(t)
	s.ask(t, row{path: "/risks", key: key, status: 429, code: "rate_limit_exceeded"})
	if lastUse(t, s.store, made) == "" {
		t.Error("the last use is lost")
	}
}

// lastUse returns the time of a key's last use as in its listing, or "" if it was never
// used.
func lastUse(t testing.TB, store *db.DB, key db.Key) string {
	t.Helper()
	listed, err := store.Keys.List(t.Context(), key.Org)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range listed {
		if k.ID == key.ID && k.LastUsedAt != nil {
			return *k.LastUsedAt
		}
	}
	return ""
}

// TestAddressLimit_SharedWithoutKey checks that requests without a valid key share the
// limit of their address. A valid key has its own limit.
func TestAddressLimit_SharedWithoutKey(t *testing.T) {
	t.Parallel()
	s := serve(t, withAnonymous(6))
	key := s.key(t, "read:risks")
	const day = 6 * 1440 // the requests of a day at six a minute
	s.run(t, []row{
		{path: "/", has: limits(6, 5, 10, day)},
		{path: "/openapi.json", has: limits(6, 4, 20, day)},
		{path: "/risks", status: 401, code: "missing_credential", has: limits(6, 3, 30, day)},
		{path: "/risks", key: "nonsense", status: 401, code: "invalid_api_key", has: limits(6, 2, 40, day)},
		{path: "/nothing", status: 404, code: "not_found", has: limits(6, 1, 50, day)},
		{method: "PUT", path: "/scores", status: 405, code: "method_not_allowed", has: limits(6, 0, 60, day)},
	})
	for _, r := range []row{{path: "/"}, {path: "/risks"}, {path: "/risks", key: "nonsense"}, {path: "/nothing"}, {path: "/", header: header("Service-Version", "x")}} {
		r.status, r.code, r.has = 429, "rate_limit_exceeded", append(limits(6, 0, 60, day), "Retry-After: 10\r")
		s.ask(t, r)
	}
	s.get(t, "/risks", key)
	s.clock.Advance(10 * time.Second)
	s.ask(t, row{path: "/risks", status: 401, code: "missing_credential"})
	s.ask(t, row{path: "/", status: 429, code: "rate_limit_exceeded"})
}

// TestAddressLimit_Zero checks that an address limit of 0 means no limit.
func TestAddressLimit_Zero(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const minute, day = 1_000_000, 1_440_000_000 // the headers if there is no limit
	for range 50 {
		s.ask(t, row{path: "/risks", status: 401, code: "missing_credential", has: limits(minute, minute, 0, day)})
	}
	s.ask(t, row{path: "/", has: limits(minute, minute, 0, day)})
}
