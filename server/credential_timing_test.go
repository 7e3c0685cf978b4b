package server_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
)

var timingRounds = flag.Int("timing.rounds", 0, "how often the timing tests take each time; 0: they look at the answers alone")

// timingSample is a kind of wrong credential, with the times that its refusals took.
type timingSample struct {
	name string
	make func(round int) string
	took []time.Duration
}

// measure tries all guesses in turn, each round in another order, so that a slow
// machine affects all of them equally.
func measure(guesses []*timingSample, rounds int, try func(string)) {
	for round := range rounds {
		order := rand.Perm(len(guesses))
		for _, i := range order {
			what := guesses[i].make(round)
			begun := time.Now()
			try(what)
			guesses[i].took = append(guesses[i].took, time.Since(begun))
		}
	}
}

// advantage compares two lists of times. It is how much more often than by chance an
// observer of one time of each assigns them correctly. It is from 0, which is no better
// than chance, to 0.5, which is always.
func advantage(a, b []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(b))
	sum := 0.0
	for _, one := range a {
		from, _ := slices.BinarySearch(sorted, one)
		to, _ := slices.BinarySearch(sorted, one+1)
		sum += float64(from+to) / 2
	}
	return math.Abs(sum/float64(len(a)*len(b)) - 0.5)
}

// chance returns the advantage that so few measurements hardly ever exceed by chance
// (four standard deviations). An observer gains nothing from an advantage below it.
func chance(rounds int) float64 { return 0.03 + 4*math.Sqrt(1/(6*float64(rounds))) }

// checkTiming compares all guesses with the first.
func checkTiming(t *testing.T, guesses []*timingSample) {
	t.Helper()
	if *timingRounds == 0 {
		return
	}
	for _, g := range guesses {
		took := slices.Sorted(slices.Values(g.took))
		gained := advantage(guesses[0].took, g.took)
		t.Logf("%-50s p10 %9s  median %9s  p90 %9s  advantage %.3f (bound %.3f)", g.name,
			took[len(took)/10], took[len(took)/2], took[len(took)*9/10], gained, chance(*timingRounds))
		if gained > chance(*timingRounds) {
			t.Errorf("the time of %s differs from that of %s", g.name, guesses[0].name)
		}
	}
}

// random returns n random characters of the alphabet of keys.
func random(n int) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var b strings.Builder
	for range n {
		b.WriteByte(letters[rand.IntN(len(letters))])
	}
	return b.String()
}

// TestTiming_Keys checks that the duration of a refusal does not reveal which part of
// a key was right, or whether the key exists.
func TestTiming_Keys(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:risks")
	s.get(t, "/risks", key) // so that its digest is cached
	_, other := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, ExpiresAt: new(s.clock.Now().Add(time.Hour))})
	s.clock.Advance(2 * time.Hour)
	id, secret, tag := len("gds_live_")+12, len("gds_live_")+44, 8
	guesses := []*timingSample{
		{name: "random in every part", make: func(int) string { return "gds_live_" + random(52) }},
		{name: "the id of a key", make: func(int) string { return key[:id] + random(40) }},
		{name: "the id and secret of a key", make: func(int) string { return key[:secret] + random(tag) }},
		{name: "all of a key but the last character", make: func(int) string {
			wrong := key[len(key)-1:]
			for wrong == key[len(key)-1:] {
				wrong = random(1)
			}
			return key[:len(key)-1] + wrong
		}},
		{name: "all of a key but the first of its secret", make: func(int) string { return key[:id] + "_" + key[id+1:] }},
		{name: "the id and secret of an expired key", make: func(int) string { return other[:secret] + random(tag) }},
		{name: "the tag of a key", make: func(int) string { return "gds_live_" + random(44) + key[secret:] }},
		{name: "of the sandbox", make: func(int) string { return "gds_test_" + random(52) }},
	}
	measure(guesses, max(1, *timingRounds), func(key string) {
		s.ask(t, row{path: "/risks", key: key, status: 401, code: "invalid_api_key"})
	})
	checkTiming(t, guesses)
}

// TestTiming_FormerKeys shows what the duration of a refusal reveals about a key of a
// former form. Such a key has no tag: the server looks up its beginning and takes a
// hash if it exists. The duration reveals only that the beginning exists, which lists
// of keys also show. It reveals nothing of the secret.
func TestTiming_FormerKeys(t *testing.T) {
	t.Parallel()
	s := serve(t)
	former := "gov_live_" + random(40)
	if _, err := s.store.Keys.Import(t.Context(), by(t, s.store, db.DefaultOrganisation), db.KeyDraft{Name: "former", Kind: db.LiveKey, Scopes: []string{"read:risks"}}, former); err != nil {
		t.Fatal(err)
	}
	guesses := []*timingSample{
		{name: "the beginning of a former key, all else wrong", make: func(int) string { return former[:len("gov_live_")+12] + random(28) }},
		{name: "all of a former key but the last character", make: func(int) string { return former[:len(former)-1] + "_" }},
		{name: "a beginning that no key has", make: func(int) string { return "gov_live_" + random(40) }},
		{name: "all of a former key, and one more", make: func(int) string { return former + random(1) }},
	}
	measure(guesses, max(1, *timingRounds/50), func(key string) {
		s.ask(t, row{path: "/risks", key: key, status: 401, code: "invalid_api_key"})
	})
	for _, g := range guesses {
		slices.Sort(g.took)
		t.Logf("%-50s median %9s", g.name, g.took[len(g.took)/2])
	}
}

// TestTiming_SignIn checks that the duration of a refused sign-in does not reveal
// whether the user exists.
func TestTiming_SignIn(t *testing.T) {
	t.Parallel()
	s := serve(t)
	people := auth.New(s.store)
	for _, name := range []string{"ada", "grace"} {
		if _, err := people.Users.Create(t.Context(), db.Actor{ID: "system"}, name, auth.Editor, "a password of the test"); err != nil {
			t.Fatal(err)
		}
	}
	guesses := []*timingSample{
		{name: "a user, a wrong password", make: func(int) string { return "ada" }},
		{name: "another user, a wrong password", make: func(int) string { return "grace" }},
		{name: "unknown", make: func(round int) string { return fmt.Sprintf("nobody-%d", round) }},
		{name: "unknown, a long name", make: func(int) string { return strings.Repeat("nobody ", 20) }},
		{name: "no name", make: func(int) string { return "" }},
	}
	measure(guesses, max(1, *timingRounds), func(name string) {
		s.clock.Advance(time.Hour) // after the throttle has reset
		_, _, err := people.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: name, Password: "wrong", Address: "192.0.2.1"})
		if !db.Is(err, db.Unauthenticated) {
			t.Errorf("%q: %v", name, err)
		}
	})
	checkTiming(t, guesses)
}
