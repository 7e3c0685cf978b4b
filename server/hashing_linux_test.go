package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"govsvc/db"
)

// fullAttack runs the attack tests at the size of the reports they answer:
// GOVSVC_ATTACK=full go test ./server ./web -run Attack.
var fullAttack = os.Getenv("GOVSVC_ATTACK") == "full"

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

// clientFrom returns a client whose requests come from 127.0.0.<host>, each over a new
// connection.
func clientFrom(host int) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(host>>8), byte(host))}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
}

// sendKey sends a key and returns the status, or 0 if the client disconnected first.
func (s *service) sendKey(ctx context.Context, t *testing.T, client *http.Client, key string) (status int, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/risks", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := client.Do(request)
	if errors.Is(err, context.Canceled) {
		return 0, nil
	}
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	_ = response.Body.Close()
	return response.StatusCode, response.Header
}

// wrongKey returns a guess with the prefix of guessedKey.
func wrongKey(i int) string { return fmt.Sprintf("%s-not-%d", guessedKey, i) }

// processorTime returns the processor time that this process has used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// hashTime returns the processor time of one guess.
func (s *service) hashTime(t *testing.T) time.Duration {
	t.Helper()
	client := clientFrom(250)
	s.sendKey(t.Context(), t, client, wrongKey(-1)) // initialises what is initialised once
	const guesses = 3
	before := processorTime(t)
	for i := range guesses {
		if status, _ := s.sendKey(t.Context(), t, client, wrongKey(-2-i)); status != http.StatusUnauthorized {
			t.Fatalf("got status %d, want 401", status)
		}
	}
	return (processorTime(t) - before) / guesses
}

// TestAttack_HolderOfAGuessedKey sends many guesses at a key of an earlier format from
// several addresses. The holder presents the key for the first time from another
// address. The response arrives before most of the guesses are checked.
func TestAttack_HolderOfAGuessedKey(t *testing.T) {
	s := serveGuessedKey(t)
	guesses, connections, addresses := 48, 24, 4
	if fullAttack {
		guesses, connections, addresses = 900, 350, 14
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var next, answered atomic.Int64
	first := make(chan struct{})
	var once sync.Once
	var group sync.WaitGroup
	for i := range connections {
		client := clientFrom(10 + i%addresses)
		group.Go(func() {
			for n := next.Add(1); n <= int64(guesses) && ctx.Err() == nil; n = next.Add(1) {
				if status, _ := s.sendKey(ctx, t, client, wrongKey(int(n))); status == http.StatusUnauthorized {
					answered.Add(1)
					once.Do(func() { close(first) })
				}
			}
		})
	}
	<-first // the other guesses are in the queue now
	before, begun := answered.Load(), time.Now()
	status, _ := s.sendKey(t.Context(), t, clientFrom(200), guessedKey)
	took, between := time.Since(begun), answered.Load()-before
	leave()
	group.Wait()
	t.Logf("the holder was answered after %v; %d guesses were answered in that time", took, between)
	if status != http.StatusOK {
		t.Errorf("got status %d for the holder, want 200", status)
	}
	if between > 6 {
		t.Errorf("%d guesses were answered before the holder, want at most 6", between)
	}
	if fullAttack && took > 5*time.Second {
		t.Errorf("the holder waited %v, want at most 5s", took)
	}
}

// TestAttack_GuessersLeave checks that a guess is not hashed if its client has
// disconnected, and that the log has no error about it.
func TestAttack_GuessersLeave(t *testing.T) {
	s := serveGuessedKey(t)
	one := s.hashTime(t)
	guesses := 30
	if fullAttack {
		guesses = 900
	}
	before := processorTime(t)
	ctx, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i := range guesses {
		client := clientFrom(10 + i%10)
		group.Go(func() { s.sendKey(ctx, t, client, wrongKey(i)) })
	}
	time.Sleep(one) // some guesses are in the queue now
	leave()
	group.Wait()
	begun := time.Now()
	status, _ := s.sendKey(t.Context(), t, clientFrom(200), guessedKey)
	took, used := time.Since(begun), processorTime(t)-before
	t.Logf("one hash takes %v; %d guesses whose clients left took %v of processor time; the holder was answered with %d after %v", one, guesses, used, status, took)
	if status != http.StatusOK {
		t.Errorf("got status %d for the holder, want 200", status)
	}
	if bound := time.Duration(guesses/2) * one; !fullAttack && used > bound {
		t.Errorf("the guesses used %v of processor time, want at most %v", used, bound)
	}
	if fullAttack && used > 5*time.Second {
		t.Errorf("the guesses used %v of processor time, want at most 5s", used)
	}
	if log := s.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the log has errors:\n%.2000s", log)
	}
}

// TestAttack_GuessesCountBeforeTheHash checks that an address that has used up its
// requests without a valid key is refused before its guess is hashed.
func TestAttack_GuessesCountBeforeTheHash(t *testing.T) {
	const allowed, guesses = 5, 30
	s := serveGuessedKey(t, withAnonymous(allowed))
	one := s.hashTime(t)
	client := clientFrom(10)
	before := processorTime(t)
	var statuses sync.Map
	var group sync.WaitGroup
	for i := range guesses {
		group.Go(func() {
			status, header := s.sendKey(t.Context(), t, client, wrongKey(i))
			if status == http.StatusTooManyRequests && header.Get("Retry-After") == "" {
				t.Error("a 429 has no Retry-After")
			}
			count, _ := statuses.LoadOrStore(status, new(atomic.Int64))
			count.(*atomic.Int64).Add(1) //nolint:forcetypeassert // stored above
		})
	}
	group.Wait()
	used := processorTime(t) - before
	for status, want := range map[int]int64{http.StatusUnauthorized: allowed, http.StatusTooManyRequests: guesses - allowed} {
		if count, ok := statuses.Load(status); !ok || count.(*atomic.Int64).Load() != want { //nolint:forcetypeassert // as above
			t.Errorf("want %d answers with status %d", want, status)
		}
	}
	if bound := guesses / 2 * one; used > bound {
		t.Errorf("%d guesses with %d allowed used %v of processor time, want at most %v", guesses, allowed, used, bound)
	}
	if status, _ := s.sendKey(t.Context(), t, clientFrom(11), guessedKey); status != http.StatusOK {
		t.Errorf("got status %d for the holder at another address, want 200", status)
	}
	if status, _ := s.sendKey(t.Context(), t, client, guessedKey); status != http.StatusOK {
		t.Errorf("got status %d for the verified key at the refused address, want 200", status)
	}
}

// TestAttack_TooManyGuessesWait checks that guesses beyond the length of the queue are
// refused immediately. The holder of the key at another address is still served.
func TestAttack_TooManyGuessesWait(t *testing.T) {
	s := serveGuessedKey(t)
	const guesses = 80
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var group sync.WaitGroup
	refused := make(chan string, guesses)
	client := clientFrom(10)
	for i := range guesses {
		group.Go(func() {
			if status, header := s.sendKey(ctx, t, client, wrongKey(i)); status == http.StatusServiceUnavailable {
				refused <- header.Get("Retry-After")
			}
		})
	}
	for range guesses / 3 {
		select {
		case after := <-refused:
			if after == "" {
				t.Fatal("a 503 has no Retry-After")
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("too few guesses are refused")
		}
	}
	if status, _ := s.sendKey(t.Context(), t, clientFrom(200), guessedKey); status != http.StatusOK {
		t.Errorf("got status %d for the holder, want 200", status)
	}
	leave()
	group.Wait()
	if log := s.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the log has errors:\n%.2000s", log)
	}
}
