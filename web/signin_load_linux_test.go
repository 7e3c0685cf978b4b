package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"govsvc/internal/testkit"
)

// trySignIn signs in and returns the status, or 0 if the client closed the connection.
func (h *harness) trySignIn(ctx context.Context, client *http.Client, name string) int {
	h.t.Helper()
	form := url.Values{"name": {name}, "password": {password}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/signin", strings.NewReader(form.Encode()))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	status, _ := testkit.StatusOf(h.t, client, request)
	return status
}

// signInUnknown tries each name once, so that no name is throttled.
func (h *harness) signInUnknown(ctx context.Context, client *http.Client, n int) int {
	return h.trySignIn(ctx, client, fmt.Sprint("nobody ", n))
}

// signInAdmin signs the administrator in from an address that no other client has.
func (h *harness) signInAdmin() int { return h.trySignIn(h.t.Context(), testkit.User(), "admin") }

// TestAttack_SignInBesideACrowd signs in many clients with wrong passwords from
// several addresses. A user at another address is answered before most of them.
func TestAttack_SignInBesideACrowd(t *testing.T) {
	h := newHarness(t)
	clients, addresses := 40, 4
	if testkit.FullAttack {
		clients, addresses = 350, 14
	}
	crowd := testkit.StartCrowd(t, clients, addresses, true, h.signInUnknown)
	crowd.CheckServed(t, http.StatusUnprocessableEntity, 12, h.signInAdmin, http.StatusSeeOther)
	testkit.CheckNoErrors(t, h.log)
}

// TestAttack_ClientsLeaveTheSignIn checks that the server does not hash the password
// of a client that closed the connection.
func TestAttack_ClientsLeaveTheSignIn(t *testing.T) {
	h := newHarness(t)
	clients := 60
	if testkit.FullAttack {
		clients = 350
	}
	client := testkit.ClientFrom(250)
	h.trySignIn(t.Context(), client, "nobody")
	before := testkit.ProcessorTime(t)
	h.trySignIn(t.Context(), client, "nobody again")
	one := testkit.ProcessorTime(t) - before
	testkit.CheckLeavers(t, one, clients, h.signInUnknown, h.signInAdmin, http.StatusSeeOther)
	testkit.CheckNoErrors(t, h.log)
}

// TestAttack_TooManySignInsWait checks that sign-ins beyond the queue limit get the
// form and Retry-After immediately. A user at another address can sign in.
func TestAttack_TooManySignInsWait(t *testing.T) {
	h := newHarness(t)
	crowd := testkit.StartCrowd(t, 150, 2, false, h.signInUnknown)
	crowd.Await(t, http.StatusServiceUnavailable, 5)
	if status := h.signInAdmin(); status != http.StatusSeeOther {
		t.Errorf("got status %d for the user, want 303", status)
	}
	crowd.Leave()
}
