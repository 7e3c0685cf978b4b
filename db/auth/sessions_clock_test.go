package auth_test

import (
	"testing"
	"time"

	"govsvc/db/auth"
)

// TestSessionsAndTheClock: a session outlasts a clock that is set back, ends
// where the clock is set past its end, and does not come back with the clock
// once it was swept away.
func TestSessionsAndTheClock(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	token, _ := h.signIn("ada")
	h.pass(-365 * 24 * time.Hour)
	if h.ended(token) {
		t.Error("it ended where the clock was set back")
	}
	h.pass(365*24*time.Hour + auth.SessionLife)
	if !h.ended(token) {
		t.Error("it goes on past its end")
	}
	if err := h.auth.Sessions.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.pass(-auth.SessionLife)
	if !h.ended(token) {
		t.Error("it came back with the clock")
	}
}
