package testkit

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// FullAttack runs the attack tests at the size of the reports that they answer:
// GOVSVC_ATTACK=full go test ./server ./web -run Attack.
var FullAttack = os.Getenv("GOVSVC_ATTACK") == "full"

// fullWait limits the wait of a user beside an attack of full size, and the processor time
// of clients that left.
const fullWait = 5 * time.Second

// ClientFrom returns a client whose requests come from 127.0.0.<host>, each over a new
// connection. It follows no redirect.
func ClientFrom(host int) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(host>>8), byte(host))}} //nolint:gosec // the two lower bytes
	return &http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// User returns the client of a user at an address that no Crowd has.
func User() *http.Client { return ClientFrom(200) }

// StatusOf sends a request and returns the status and header of the answer, or 0 if the
// client closed the connection. It reports a refusal without Retry-After.
func StatusOf(t testing.TB, client *http.Client, request *http.Request) (status int, header http.Header) {
	t.Helper()
	response, err := client.Do(request) //nolint:gosec // the test makes the request
	if errors.Is(err, context.Canceled) {
		return 0, nil
	}
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	_ = response.Body.Close()
	refused := response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusTooManyRequests
	if refused && response.Header.Get("Retry-After") == "" {
		t.Errorf("a %d has no Retry-After", response.StatusCode)
	}
	return response.StatusCode, response.Header
}

// ProcessorTime returns the processor time that this process has used so far.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Attempt sends one request and returns the status of its answer, 0 if ctx ended first.
// No two attempts of a crowd have the same number.
type Attempt func(ctx context.Context, client *http.Client, n int) (status int)

// Crowd is many clients at several addresses that send at the same time.
type Crowd struct {
	leave context.CancelFunc
	group sync.WaitGroup

	mutex    sync.Mutex
	attempts int
	answers  map[int]int // by status
}

// StartCrowd starts a crowd whose clients send once, or until they leave.
func StartCrowd(t testing.TB, clients, addresses int, repeat bool, attempt Attempt) *Crowd {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	c := &Crowd{leave: leave, answers: map[int]int{}}
	for i := range clients {
		client := ClientFrom(10 + i%addresses)
		c.group.Go(func() {
			for again := true; again && ctx.Err() == nil; again = repeat {
				c.count(attempt(ctx, client, c.next()))
			}
		})
	}
	t.Cleanup(c.Leave)
	return c
}

func (c *Crowd) next() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.attempts++
	return c.attempts
}

func (c *Crowd) count(status int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.answers[status]++
}

// Answered returns how many attempts were answered with a status.
func (c *Crowd) Answered(status int) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.answers[status]
}

// Await waits until n attempts were answered with a status.
func (c *Crowd) Await(t testing.TB, status, n int) {
	t.Helper()
	Eventually(t, func() bool { return c.Answered(status) >= n }, "%d answers with status %d", n, status)
}

// Leave closes the connections of all clients. It returns when all clients have stopped.
func (c *Crowd) Leave() {
	c.leave()
	c.group.Wait()
}

// Wait returns when each client has sent once.
func (c *Crowd) Wait() { c.group.Wait() }

// CheckServed sends the request of a user after the first answer to the crowd, and ends the
// crowd. At most a few attempts, which have the status refused, may be answered before the
// user.
func (c *Crowd) CheckServed(t testing.TB, refused, most int, user func() int, want int) {
	t.Helper()
	c.Await(t, refused, 1)
	before, began := c.Answered(refused), time.Now()
	status := user()
	took, between := time.Since(began), c.Answered(refused)-before
	c.Leave()
	t.Logf("the user was answered after %v; %d others were answered in that time", took, between)
	if status != want {
		t.Errorf("got status %d for the user, want %d", status, want)
	}
	if between > most {
		t.Errorf("%d others were answered before the user, want at most %d", between, most)
	}
	if FullAttack && took > fullWait {
		t.Errorf("the user waited %v, want at most %v", took, fullWait)
	}
}

// CheckLeavers starts a crowd whose clients leave after the time of one attempt. It reports
// an error if the server then works for more than half of them, or refuses the user.
func CheckLeavers(t testing.TB, one time.Duration, clients int, attempt Attempt, user func() int, want int) {
	t.Helper()
	before := ProcessorTime(t)
	crowd := StartCrowd(t, clients, 14, false, attempt)
	time.Sleep(one) // some wait by now
	crowd.Leave()
	status := user()
	used := ProcessorTime(t) - before
	t.Logf("one attempt takes %v; %d whose clients left took %v of processor time", one, clients, used)
	if status != want {
		t.Errorf("got status %d for the user, want %d", status, want)
	}
	bound := time.Duration(clients/2) * one
	if FullAttack {
		bound = fullWait
	}
	if used > bound {
		t.Errorf("the attempts used %v of processor time, want at most %v", used, bound)
	}
}

// CheckNoErrors reports the errors in a log.
func CheckNoErrors(t testing.TB, log *LogBuffer) {
	t.Helper()
	if text := log.String(); strings.Contains(text, "level=ERROR") {
		t.Errorf("the log has errors:\n%.2000s", text)
	}
}
