package auth_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
)

// trySignIn signs in from an address and returns the error.
func (f *fixture) trySignIn(name, password, code, address string) error {
	f.t.Helper()
	token, s, err := f.Sessions.SignIn(f.t.Context(), auth.SignInAttempt{Name: name, Password: password, Code: code, Address: address})
	if (err == nil) != (token != "") || (err == nil) != (s != auth.Session{}) {
		f.t.Errorf("got token %q and session %+v with error %v", token, s, err)
	}
	return err
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.addUser("Ada", auth.Editor)
	f.clock.Advance(time.Second)
	token, s, err := f.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: " ADA", Password: rightPassword, Address: "192.0.2.1"})
	if err != nil || len(token) != 43 {
		t.Fatalf("token %q, %v", token, err)
	}
	stamp, ends := db.Timestamp(f.clock.Now()), db.Timestamp(f.clock.Now().Add(auth.SessionLife))
	ada.LastSignInAt = &stamp
	want := auth.Session{User: ada, Organisation: f.org, CreatedAt: stamp, SeenAt: stamp, ExpiresAt: ends}
	found, err := f.Sessions.ByToken(t.Context(), token)
	for _, got := range []auth.Session{s, found} {
		if diff := cmp.Diff(want.User, got.User); diff != "" || err != nil {
			t.Errorf("the session's user: %v (-want +got):\n%s", err, diff)
		}
		if got.Organisation != want.Organisation || got.CreatedAt != want.CreatedAt || got.SeenAt != want.SeenAt || got.ExpiresAt != want.ExpiresAt {
			t.Errorf("got session %+v, want %+v", got, want)
		}
	}
	if other, _ := f.signIn("ada"); other == token {
		t.Error("two sessions have the same token")
	}
	if err := f.Sessions.SignOut(t.Context(), s); err != nil || !f.ended(token) {
		t.Errorf("signed out: %v, ended %v", err, f.ended(token))
	}
	if err := f.Sessions.SignOut(t.Context(), s); err != nil { // changes nothing
		t.Error(err)
	}
	f.wantEvents(
		1,
		signedIn("Ada", `{"address":"192.0.2.1"}`),
		signedIn("Ada", "null"),
		`user.signed_out authentication 3: Ada on user Ada null`,
	)
}

// TestSignIn_SameMessage checks that the message is the same for a wrong password and
// for an unknown name.
func TestSignIn_SameMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	_, s := f.signIn("ada")
	f.enableSecondFactor(&s)
	var want []string
	for i, row := range [][5]string{ // name, password, code, and the user and the reason of the event
		{"ada", "wrong", "", "ada", "wrong_password"},
		{"ada", "wrong", "123456", "ada", "wrong_password"},
		{"unknown", "wrong", "", "", "unknown_name"},
		{"unknown", rightPassword, "123456", "", "unknown_name"},
		{"", "", "", "", "unknown_name"},
		{"ada", "", "", "ada", "wrong_password"},
		{"a\x00da", rightPassword, "", "", "unknown_name"},
		{strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20), "", "unknown_name"},
		{"\xff", "\xff", "\xff", "", "unknown_name"},
	} {
		address := fmt.Sprint("10.0.0.", i)
		err := f.trySignIn(row[0], row[1], row[2], address)
		if wantError(t, fmt.Sprintf("%.20q", row), err, db.Unauthenticated, "", "the name or the password is wrong"); err.Error() != "the name or the password is wrong" {
			t.Errorf("%.20q: %v", row, err)
		}
		want = append(want, signInRefused(row[3], address, row[4]))
	}
	wantError(t, "the right password", f.trySignIn("ada", rightPassword, "", "10.0.1.1"), db.CodeNeeded, "code", "enter the code")
	wantError(t, "a wrong code", f.trySignIn("ada", rightPassword, "000000", strings.Repeat("9", 200)), db.Unauthenticated, "code", "this code is wrong")
	f.wantEvents(3, append(want, signInRefused("ada", "10.0.1.1", "code_needed"), signInRefused("ada", strings.Repeat("9", 64), "wrong_code"))...)
}

// TestSignIn_Throttled checks that five wrong passwords block the name at the address for a
// while, even for the right password. Unknown names are blocked, too. Other names and
// other addresses are not blocked.
func TestSignIn_Throttled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ada", "unknown"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.addUser("ada", auth.Admin)
			f.addUser("bob", auth.Viewer)
			for i, typed := range []string{name, strings.ToUpper(name), " " + name, name, name} {
				wantError(t, fmt.Sprint("attempt ", i), f.trySignIn(typed, "wrong", "", "192.0.2.1"), db.Unauthenticated, "", "is wrong")
				f.clock.Advance(time.Minute)
			}
			before := len(f.events())
			wantError(t, "a sixth attempt", f.trySignIn(name, rightPassword, "", "192.0.2.1"), db.Throttled, "", "too many failed attempts; wait 10 minutes and try again")
			if after := len(f.events()); after != before {
				t.Errorf("got %d events of refused attempts, want none", after-before)
			}
			if err := f.trySignIn("bob", rightPassword, "", "192.0.2.1"); err != nil {
				t.Errorf("another name: %v", err)
			}
			if err := f.trySignIn("ada", rightPassword, "", "192.0.2.2"); err != nil {
				t.Errorf("another address: %v", err)
			}
			f.clock.Advance(10 * time.Minute)
			wantError(t, "the first attempt after the wait", f.trySignIn(name, "wrong", "", "192.0.2.1"), db.Unauthenticated, "", "is wrong")
			wantError(t, "the second attempt after the wait", f.trySignIn(name, "wrong", "", "192.0.2.1"), db.Throttled, "", "wait a minute")
			f.clock.Advance(time.Minute)
			if err := f.trySignIn("ada", rightPassword, "", "192.0.2.1"); err != nil {
				t.Errorf("after the wait: %v", err)
			}
		})
	}
}

// TestSignIn_ResetsAttempts checks that a success resets the counter. Parallel attempts are
// counted before they are checked.
func TestSignIn_ResetsAttempts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	for range 3 {
		for range 4 {
			wantError(t, "a wrong password", f.trySignIn("ada", "wrong", "", "192.0.2.1"), db.Unauthenticated, "", "is wrong")
		}
		if err := f.trySignIn("ada", rightPassword, "", "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	outcomes := make(chan error, 30)
	for range cap(outcomes) {
		all.Go(func() {
			_, _, err := f.Sessions.SignIn(context.Background(), auth.SignInAttempt{Name: "ada", Password: "wrong", Address: "192.0.2.1"})
			outcomes <- err
		})
	}
	all.Wait()
	close(outcomes)
	checked := 0
	for err := range outcomes {
		if db.Is(err, db.Unauthenticated) {
			checked++
		} else {
			wantError(t, "one too many", err, db.Throttled, "", "wait 15 minutes")
		}
	}
	if checked != 5 {
		t.Errorf("got %d checked attempts, want 5", checked)
	}
}

// TestSignIn_Parallel checks that parallel calls get different sessions.
func TestSignIn_Parallel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	tokens := make([]string, 20)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			var err error
			tokens[i], _, err = f.Sessions.SignIn(context.Background(), auth.SignInAttempt{Name: "ada", Password: rightPassword, Address: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	distinct := map[string]bool{}
	for _, token := range tokens {
		distinct[token] = true
		if f.ended(token) {
			t.Errorf("no session for the token %q", token)
		}
	}
	if len(distinct) != len(tokens) {
		t.Errorf("got %d tokens, want %d", len(distinct), len(tokens))
	}
}

// TestSignIn_StoreFails checks that an error of the store does not count as an attempt,
// neither for the password nor for the code.
func TestSignIn_StoreFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	_, s := f.signIn("ada")
	a, _ := f.enableSecondFactor(&s)
	f.clock.Advance(time.Minute)
	testkit.ExecSQL(t, f.path, "ALTER TABLE sessions RENAME TO gone")
	for range 6 {
		if err := f.trySignIn("ada", rightPassword, a.code(f.clock.Now()), "192.0.2.1"); err == nil || db.Is(err, db.Throttled) {
			t.Fatalf("without the table of sessions: %v", err)
		}
	}
	testkit.ExecSQL(t, f.path, "ALTER TABLE gone RENAME TO sessions")
	if err := f.trySignIn("ada", rightPassword, a.code(f.clock.Now()), "192.0.2.1"); err != nil {
		t.Errorf("with the table of sessions: %v", err)
	}
}
