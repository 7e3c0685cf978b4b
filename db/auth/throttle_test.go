package auth

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"govsvc/db"
)

// noon is where the clocks of these tests begin.
var noon = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// opened returns the services over a new file at noon, for tests that look inside.
func opened(t testing.TB) *Service {
	t.Helper()
	store, err := db.Open(t.Context(), db.Options{Path: filepath.Join(t.TempDir(), "govsvc.db"), Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	s := New(store)
	t.Cleanup(func() {
		s.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestThrottle: a subject has its tries within the time, each coming back when
// its own time is over.
func TestThrottle(t *testing.T) {
	t.Parallel()
	var held throttle
	one, other := subjectOf(attemptLimit{3, 10 * time.Minute}, "one", "a", "bc"), subjectOf(attemptLimit{100, time.Hour}, "other", "")
	if one.digest == subjectOf(one.attemptLimit, "one", "ab", "c").digest {
		t.Error("two subjects are counted as one")
	}
	for minute, wait := range []time.Duration{0, 0, 0, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 7, 6} {
		_, err := held.begin(noon.Add(time.Duration(minute)*time.Minute), one, other)
		var refusal *db.Error
		if !errors.As(err, &refusal) {
			refusal = &db.Error{}
		}
		if refusal.RetryAfter != wait*time.Minute || (err != nil) != db.Is(err, db.Throttled) {
			t.Errorf("minute %d: %v, wait %v, want %d minutes", minute, err, refusal.RetryAfter, wait)
		}
	}
	if n := len(held.counters[other.digest].at); n != 6 {
		t.Errorf("%d tries are counted of the other subject, want 6: what is refused uses up nothing", n)
	}
	held.reset(one)
	later := noon.Add(14 * time.Minute)
	for range 10 {
		made, err := held.begin(later, one)
		if err != nil {
			t.Fatal(err)
		}
		held.refund(made)
	}
	if len(held.counters) != 1 {
		t.Errorf("%d tallies, want that of the other subject alone", len(held.counters))
	}
}

// TestThrottleIsBounded: a flood of names forgets what is over before what is
// not, and takes no more room than there is.
func TestThrottleIsBounded(t *testing.T) {
	t.Parallel()
	var held throttle
	long, short := attemptLimit{1, time.Hour}, attemptLimit{1, time.Minute}
	for i := range maxCounters - 1 {
		if _, err := held.begin(noon, subjectOf(short, "short", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	kept := subjectOf(long, "long", "kept")
	_, _ = held.begin(noon, kept)
	_, _ = held.begin(noon.Add(time.Minute), subjectOf(long, "long", "new"))
	if _, err := held.begin(noon.Add(time.Minute), kept); !db.Is(err, db.Throttled) || len(held.counters) != 2 {
		t.Errorf("%d tallies are left, %v", len(held.counters), err)
	}
	for i := range maxCounters + 10 {
		if _, err := held.begin(noon.Add(time.Minute), subjectOf(long, "flood", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if len(held.counters) != maxCounters {
		t.Errorf("%d tallies, want %d", len(held.counters), maxCounters)
	}
}

func TestWaitInWords(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		time.Second: "a minute", time.Minute: "a minute", 61 * time.Second: "2 minutes", 15 * time.Minute: "15 minutes", time.Hour: "60 minutes",
	} {
		if got := minutes(wait); got != want {
			t.Errorf("%v: %q, want %q", wait, got, want)
		}
	}
}

// hashOthers lets others hash as many passwords as may be hashed at once.
func hashOthers(t *testing.T, s *Service) {
	t.Helper()
	for range passwordsAtOnce {
		if err := s.Users.passwords.queue.Acquire(t.Context(), "192.0.2.99", "", time.Hour); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHashingWaits: while as many passwords are hashed as may be at once, who
// waits for too long or leaves is told so, and has used up no try.
func TestHashingWaits(t *testing.T) {
	t.Parallel()
	s := opened(t)
	attempt := SignInAttempt{Name: "ada", Password: "plain tulips at noon"}
	if _, err := s.Users.CreateFirst(t.Context(), db.Actor{}, attempt.Name, attempt.Password); err != nil {
		t.Fatal(err)
	}
	hashOthers(t, s)
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

// TestRefusalsTakeAHash: a sign-in waits for its turn to hash whatever is wrong
// with it, for a name that nobody has, too, so that no time tells one from
// another. (TestTimingOfSignIn measures it.)
func TestRefusalsTakeAHash(t *testing.T) {
	t.Parallel()
	s := opened(t)
	if _, err := s.Users.CreateFirst(t.Context(), db.Actor{}, "ada", "plain tulips at noon"); err != nil {
		t.Fatal(err)
	}
	hashOthers(t, s)
	s.Users.passwords.wait = time.Nanosecond
	for _, name := range []string{"ada", "nobody", "", "\xff", strings.Repeat("x", 1<<20)} {
		for _, password := range []string{"wrong", "", "\xff", strings.Repeat("x", 1<<20)} {
			if _, _, err := s.Sessions.SignIn(t.Context(), SignInAttempt{Name: name, Password: password}); !db.Is(err, db.Busy) {
				t.Errorf("%.20q with %.20q: %v, though nothing can be hashed", name, password, err)
			}
		}
	}
}

// TestAllowances: a name has few tries from everywhere together, an address
// few at all names together, and nobody's name is like somebody's.
func TestAllowances(t *testing.T) {
	t.Parallel()
	s := opened(t)
	if _, err := s.Users.CreateFirst(t.Context(), db.Actor{}, "ada", "plain tulips at noon"); err != nil {
		t.Fatal(err)
	}
	used := func(of subject) {
		for range of.attempts {
			if _, err := s.Sessions.throttle.begin(noon, of); err != nil {
				t.Fatal(err)
			}
		}
	}
	used(subjectOf(perName, "name", "ada"))
	used(subjectOf(perName, "name", "nobody"))
	used(subjectOf(perAddress, "address", "192.0.2.1"))
	for _, row := range []struct {
		name, address string
		want          db.Code
	}{
		{"ada", "192.0.2.9", db.Throttled},
		{"ADA", "192.0.2.9", db.Throttled},
		{"nobody", "192.0.2.9", db.Throttled},
		{"bob", "192.0.2.1", db.Throttled},
		{"bob", "192.0.2.9", db.Unauthenticated},
	} {
		_, _, err := s.Sessions.SignIn(t.Context(), SignInAttempt{Name: row.name, Password: "plain tulips at noon", Address: row.address})
		if !db.Is(err, row.want) {
			t.Errorf("%s from %s: %v, want code %d", row.name, row.address, err, row.want)
		}
	}
}
