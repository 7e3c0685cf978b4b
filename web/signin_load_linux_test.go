package web_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// fullAttack runs the attack tests at the size of the original reports:
// GOVSVC_ATTACK=full go test ./server ./web -run Attack.
var fullAttack = os.Getenv("GOVSVC_ATTACK") == "full"

// clientAt returns a client whose requests come from 127.0.0.<host>, with a separate
// connection for each.
func clientAt(host int) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(host>>8), byte(host))}}
	return &http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// trySignIn signs in and returns the status, or 0 if the client closed the connection.
func (h *harness) trySignIn(ctx context.Context, client *http.Client, name, password string) int {
	h.t.Helper()
	form := url.Values{"name": {name}, "password": {password}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/signin", strings.NewReader(form.Encode()))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := client.Do(request)
	if errors.Is(err, context.Canceled) {
		return 0
	}
	if err != nil {
		h.t.Error(err)
		return 0
	}
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
		h.t.Error("a 503 has no Retry-After")
	}
	return resp.StatusCode
}

// processorTime returns the processor time that this process has used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestAttack_SignInBesideACrowd signs in many clients with wrong passwords from
// several addresses. A user at another address is answered before most of them.
func TestAttack_SignInBesideACrowd(t *testing.T) {
	h := newHarness(t)
	connections, addresses := 40, 4
	if fullAttack {
		connections, addresses = 350, 14
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var tries, answered atomic.Int64
	first := make(chan struct{})
	var once sync.Once
	var group sync.WaitGroup
	for i := range connections {
		client := clientAt(10 + i%addresses)
		group.Go(func() {
			for ctx.Err() == nil {
				// each name is tried once, so that no name is throttled
				if h.trySignIn(ctx, client, fmt.Sprint("nobody ", tries.Add(1)), password) == http.StatusUnprocessableEntity {
					answered.Add(1)
					once.Do(func() { close(first) })
				}
			}
		})
	}
	<-first
	before, begun := answered.Load(), time.Now()
	status := h.trySignIn(t.Context(), clientAt(200), "admin", password)
	took, between := time.Since(begun), answered.Load()-before
	leave()
	group.Wait()
	t.Logf("the user was let in after %v; %d others were answered in that time", took, between)
	if status != http.StatusSeeOther {
		t.Errorf("got status %d for the user, want 303", status)
	}
	if between > 12 {
		t.Errorf("%d others were answered before the user, want at most 12", between)
	}
	if fullAttack && took > 5*time.Second {
		t.Errorf("the user waited %v, want at most 5s", took)
	}
	if log := h.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the log has errors:\n%.2000s", log)
	}
}

// TestAttack_ClientsLeaveTheSignIn checks that the server does not hash the password
// of a client that closed the connection.
func TestAttack_ClientsLeaveTheSignIn(t *testing.T) {
	h := newHarness(t)
	clients := 60
	if fullAttack {
		clients = 350
	}
	h.trySignIn(t.Context(), clientAt(250), "nobody", password)
	before := processorTime(t)
	h.trySignIn(t.Context(), clientAt(250), "nobody again", password)
	one := processorTime(t) - before
	before = processorTime(t)
	ctx, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i := range clients {
		client := clientAt(10 + i%14)
		group.Go(func() { h.trySignIn(ctx, client, fmt.Sprint("nobody ", i), password) })
	}
	time.Sleep(one)
	leave()
	group.Wait()
	status := h.trySignIn(t.Context(), clientAt(200), "admin", password)
	used := processorTime(t) - before
	t.Logf("one sign-in takes %v; %d whose clients left took %v of processor time", one, clients, used)
	if status != http.StatusSeeOther {
		t.Errorf("got status %d for the user, want 303", status)
	}
	if bound := time.Duration(clients/2) * one; !fullAttack && used > bound {
		t.Errorf("the sign-ins used %v of processor time, want at most %v", used, bound)
	}
	if fullAttack && used > 5*time.Second {
		t.Errorf("the sign-ins used %v of processor time, want at most 5s", used)
	}
	if log := h.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the log has errors:\n%.2000s", log)
	}
}

// TestAttack_TooManySignInsWait checks that sign-ins beyond the queue limit get the
// form and Retry-After immediately. A user at another address can sign in.
func TestAttack_TooManySignInsWait(t *testing.T) {
	h := newHarness(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var group sync.WaitGroup
	const connections = 150
	refused := make(chan struct{}, connections)
	for i := range connections {
		client := clientAt(10 + i%2)
		group.Go(func() {
			if h.trySignIn(ctx, client, fmt.Sprint("nobody ", i), password) == http.StatusServiceUnavailable {
				refused <- struct{}{}
			}
		})
	}
	for range 5 {
		select {
		case <-refused:
		case <-time.After(time.Minute):
			t.Fatal("too few sign-ins are refused")
		}
	}
	if status := h.trySignIn(t.Context(), clientAt(200), "admin", password); status != http.StatusSeeOther {
		t.Errorf("got status %d for the user, want 303", status)
	}
	leave()
	group.Wait()
}
