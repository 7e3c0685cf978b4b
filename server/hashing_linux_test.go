package server_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// guessedKey is a key of a former prefix. Guesses share what identifies it.
const guessedKey = "gov_live_guessed-by-everybody-and-held-by-one"

// serveGuessedKey starts a service with guessedKey in its file.
func serveGuessedKey(t *testing.T, settings ...setting) *service {
	t.Helper()
	s := serve(t, settings...)
	if _, err := s.store.Keys.Import(t.Context(), by(t, s.store, db.DefaultOrganisation), draftFor("read:all"), guessedKey); err != nil {
		t.Fatal(err)
	}
	return s
}

// sendKey sends a key and returns the status, 0 if the client left first.
func (s *service) sendKey(ctx context.Context, t *testing.T, client *http.Client, key string) (status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/risks", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	status, _ = testkit.StatusOf(t, client, request)
	return status
}

// wrongKey returns a guess with the prefix of guessedKey.
func wrongKey(i int) string { return fmt.Sprintf("%s-not-%d", guessedKey, i) }

// guess sends wrong keys.
func (s *service) guess(t *testing.T) testkit.Attempt {
	return func(ctx context.Context, client *http.Client, n int) int {
		t.Helper()
		return s.sendKey(ctx, t, client, wrongKey(n))
	}
}

// holder sends guessedKey from an address that has not sent it before.
func (s *service) holder(t *testing.T) func() int {
	t.Helper()
	return func() int { return s.sendKey(t.Context(), t, testkit.User(), guessedKey) }
}

// hashTime returns the processor time of one guess.
func (s *service) hashTime(t *testing.T) time.Duration {
	t.Helper()
	client := testkit.ClientFrom(250)
	s.sendKey(t.Context(), t, client, wrongKey(-1)) // initialises what is initialised once
	const guesses = 3
	before := testkit.ProcessorTime(t)
	for i := range guesses {
		if status := s.sendKey(t.Context(), t, client, wrongKey(-2-i)); status != http.StatusUnauthorized {
			t.Fatalf("got status %d, want 401", status)
		}
	}
	return (testkit.ProcessorTime(t) - before) / guesses
}

// TestAttack_HolderOfAGuessedKey checks that the holder of a former key is answered before
// most of a crowd that guesses at it. The holder presents the key for the first time, from
// another address.
func TestAttack_HolderOfAGuessedKey(t *testing.T) {
	s := serveGuessedKey(t)
	clients, addresses := 24, 4
	if testkit.FullAttack {
		clients, addresses = 350, 14
	}
	crowd := testkit.StartCrowd(t, clients, addresses, true, s.guess(t))
	crowd.CheckServed(t, http.StatusUnauthorized, 6, s.holder(t), http.StatusOK)
}

// TestAttack_GuessersLeave checks that the server does not hash a key whose client has
// disconnected, and that it logs no error for it.
func TestAttack_GuessersLeave(t *testing.T) {
	s := serveGuessedKey(t)
	clients := 30
	if testkit.FullAttack {
		clients = 900
	}
	testkit.CheckLeavers(t, s.hashTime(t), clients, s.guess(t), s.holder(t), http.StatusOK)
	testkit.CheckNoErrors(t, s.log)
}

// TestAttack_GuessesCountBeforeTheHash checks that an address that has used up its requests
// without a valid key is refused before a hash.
func TestAttack_GuessesCountBeforeTheHash(t *testing.T) {
	const allowed, guesses = 5, 30
	s := serveGuessedKey(t, withAnonymous(allowed))
	one := s.hashTime(t)
	before := testkit.ProcessorTime(t)
	crowd := testkit.StartCrowd(t, guesses, 1, false, s.guess(t))
	crowd.Wait()
	used := testkit.ProcessorTime(t) - before
	for status, want := range map[int]int{http.StatusUnauthorized: allowed, http.StatusTooManyRequests: guesses - allowed} {
		if got := crowd.Answered(status); got != want {
			t.Errorf("got %d answers with status %d, want %d", got, status, want)
		}
	}
	if bound := guesses / 2 * one; used > bound {
		t.Errorf("%d guesses with %d allowed used %v of processor time, want at most %v", guesses, allowed, used, bound)
	}
	if status := s.holder(t)(); status != http.StatusOK {
		t.Errorf("got status %d for the holder at another address, want 200", status)
	}
	if status := s.sendKey(t.Context(), t, testkit.ClientFrom(10), guessedKey); status != http.StatusOK {
		t.Errorf("got status %d for the verified key at the refused address, want 200", status)
	}
}

// TestAttack_TooManyGuessesWait checks that guesses beyond the queue limit are refused
// immediately. The holder at another address is served.
func TestAttack_TooManyGuessesWait(t *testing.T) {
	s := serveGuessedKey(t)
	const guesses = 80
	crowd := testkit.StartCrowd(t, guesses, 1, false, s.guess(t))
	crowd.Await(t, http.StatusServiceUnavailable, guesses/3)
	if status := s.holder(t)(); status != http.StatusOK {
		t.Errorf("got status %d for the holder, want 200", status)
	}
	crowd.Leave()
	testkit.CheckNoErrors(t, s.log)
}
