package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// openService opens the services over an empty file. Its clock always shows testkit.Start.
func openService(t testing.TB) *Service {
	t.Helper()
	s := New(testdb.Open(t, db.Options{}))
	t.Cleanup(s.Close)
	return s
}

// TestThrottle checks that a subject has its attempts within the window, and that each
// attempt expires separately.
func TestThrottle(t *testing.T) {
	t.Parallel()
	var th throttle
	one, other := subjectOf(attemptLimit{3, 10 * time.Minute}, "one", "a", "bc"), subjectOf(attemptLimit{100, time.Hour}, "other", "")
	if one.digest == subjectOf(one.attemptLimit, "one", "ab", "c").digest {
		t.Error("two subjects are counted as one")
	}
	for minute, wait := range []time.Duration{0, 0, 0, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 7, 6} {
		_, err := th.begin(testkit.Start.Add(time.Duration(minute)*time.Minute), one, other)
		var refusal *db.Error
		if !errors.As(err, &refusal) {
			refusal = &db.Error{}
		}
		if refusal.RetryAfter != wait*time.Minute || (err != nil) != db.Is(err, db.Throttled) {
			t.Errorf("minute %d: %v, wait %v, want %d minutes", minute, err, refusal.RetryAfter, wait)
		}
	}
	if n := len(th.counters[other.digest].at); n != 6 {
		t.Errorf("got %d attempts of the other subject, want 6: refused attempts do not count", n)
	}
	th.reset(one)
	later := testkit.Start.Add(14 * time.Minute)
	for range 10 {
		made, err := th.begin(later, one)
		if err != nil {
			t.Fatal(err)
		}
		th.refund(made)
	}
	if len(th.counters) != 1 {
		t.Errorf("got %d counters, want that of the other subject alone", len(th.counters))
	}
}

// TestThrottle_Limit checks that the number of counters is limited, and that expired
// counters are removed first.
func TestThrottle_Limit(t *testing.T) {
	t.Parallel()
	var th throttle
	long, short := attemptLimit{1, time.Hour}, attemptLimit{1, time.Minute}
	for i := range maxCounters - 1 {
		if _, err := th.begin(testkit.Start, subjectOf(short, "short", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	kept := subjectOf(long, "long", "kept")
	_, _ = th.begin(testkit.Start, kept)
	_, _ = th.begin(testkit.Start.Add(time.Minute), subjectOf(long, "long", "new"))
	if _, err := th.begin(testkit.Start.Add(time.Minute), kept); !db.Is(err, db.Throttled) || len(th.counters) != 2 {
		t.Errorf("got %d counters, %v, want 2", len(th.counters), err)
	}
	for i := range maxCounters + 10 {
		if _, err := th.begin(testkit.Start.Add(time.Minute), subjectOf(long, "flood", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if len(th.counters) != maxCounters {
		t.Errorf("got %d counters, want %d", len(th.counters), maxCounters)
	}
}

func TestMinutes(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		time.Second: "a minute", time.Minute: "a minute", 61 * time.Second: "2 minutes", 15 * time.Minute: "15 minutes", time.Hour: "60 minutes",
	} {
		if got := minutes(wait); got != want {
			t.Errorf("%v: %q, want %q", wait, got, want)
		}
	}
}

// fillQueue takes all places in which passwords are hashed.
func fillQueue(t *testing.T, s *Service) {
	t.Helper()
	for range passwordsAtOnce {
		if err := s.Users.passwords.queue.Acquire(t.Context(), "192.0.2.99", "", time.Hour); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSignIn_QueueFull checks that a caller that waits too long or disconnects gets an
// error, and that this does not count as an attempt.
func TestSignIn_QueueFull(t *testing.T) {
	t.Parallel()
	s := openService(t)
	attempt := SignInAttempt{Name: "ada", Password: "plain tulips at noon"}
	if _, err := s.Users.CreateFirst(t.Context(), db.Actor{}, attempt.Name, attempt.Password); err != nil {
		t.Fatal(err)
	}
	fillQueue(t, s)
	gone, leave := context.WithCancel(t.Context())
	leave()
	wait := s.Users.passwords.wait
	s.Users.passwords.wait = time.Nanosecond
	for range 20 {
		if _, _, err := s.Sessions.SignIn(t.Context(), attempt); !db.Is(err, db.Busy) {
			t.Fatalf("got %v, want Busy", err)
		}
	}
	s.Users.passwords.wait = time.Hour
	for range 20 {
		if _, _, err := s.Sessions.SignIn(gone, attempt); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want it cancelled", err)
		}
	}
	for range passwordsAtOnce {
		s.Users.passwords.queue.Release()
	}
	s.Users.passwords.wait = wait
	if _, _, err := s.Sessions.SignIn(t.Context(), attempt); err != nil {
		t.Error(err)
	}
}

// TestSignIn_AlwaysHashes checks that every sign-in hashes a password, even for an unknown
// name, so that the time does not reveal the reason. TestTiming_SignIn measures the time.
func TestSignIn_AlwaysHashes(t *testing.T) {
	t.Parallel()
	s := openService(t)
	if _, err := s.Users.CreateFirst(t.Context(), db.Actor{}, "ada", "plain tulips at noon"); err != nil {
		t.Fatal(err)
	}
	fillQueue(t, s)
	s.Users.passwords.wait = time.Nanosecond
	for _, name := range []string{"ada", "unknown", "", "\xff", strings.Repeat("x", 1<<20)} {
		for _, password := range []string{"wrong", "", "\xff", strings.Repeat("x", 1<<20)} {
			if _, _, err := s.Sessions.SignIn(t.Context(), SignInAttempt{Name: name, Password: password}); !db.Is(err, db.Busy) {
				t.Errorf("%.20q with %.20q: %v, want Busy", name, password, err)
			}
		}
	}
}

// TestSignIn_Limits checks the limit of a name over all addresses and the limit of an
// address over all names. An unknown name has the same limit.
func TestSignIn_Limits(t *testing.T) {
	t.Parallel()
	s := openService(t)
	if _, err := s.Users.CreateFirst(t.Context(), db.Actor{}, "ada", "plain tulips at noon"); err != nil {
		t.Fatal(err)
	}
	used := func(of subject) {
		for range of.attempts {
			if _, err := s.Sessions.throttle.begin(testkit.Start, of); err != nil {
				t.Fatal(err)
			}
		}
	}
	used(subjectOf(perName, "name", "ada"))
	used(subjectOf(perName, "name", "unknown"))
	used(subjectOf(perAddress, "address", "192.0.2.1"))
	for _, row := range []struct {
		name, address string
		want          db.Code
	}{
		{"ada", "192.0.2.9", db.Throttled},
		{"ADA", "192.0.2.9", db.Throttled},
		{"unknown", "192.0.2.9", db.Throttled},
		{"bob", "192.0.2.1", db.Throttled},
		{"bob", "192.0.2.9", db.Unauthenticated},
	} {
		_, _, err := s.Sessions.SignIn(t.Context(), SignInAttempt{Name: row.name, Password: "plain tulips at noon", Address: row.address})
		if !db.Is(err, row.want) {
			t.Errorf("%s from %s: %v, want code %d", row.name, row.address, err, row.want)
		}
	}
}
