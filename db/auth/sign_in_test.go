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
)

// try signs in from an address and returns what is refused.
func (h *house) try(name, password, code, address string) error {
	h.t.Helper()
	token, s, err := h.auth.Sessions.SignIn(h.t.Context(), auth.SignInAttempt{Name: name, Password: password, Code: code, Address: address})
	if (err == nil) != (token != "") || (err == nil) != (s != auth.Session{}) {
		h.t.Errorf("token %q and session %+v with %v", token, s, err)
	}
	return err
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ada := h.user("Ada", auth.Editor)
	h.pass(time.Second)
	token, s, err := h.auth.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: " ADA", Password: rightPassword, Address: "192.0.2.1"})
	if err != nil || len(token) != 43 {
		t.Fatalf("token %q, %v", token, err)
	}
	stamp, ends := db.Timestamp(h.now()), db.Timestamp(h.now().Add(auth.SessionLife))
	ada.LastSignInAt = &stamp
	want := auth.Session{User: ada, Organisation: h.org, CreatedAt: stamp, SeenAt: stamp, ExpiresAt: ends}
	found, err := h.auth.Sessions.ByToken(t.Context(), token)
	for _, got := range []auth.Session{s, found} {
		if diff := cmp.Diff(want.User, got.User); diff != "" || err != nil {
			t.Errorf("the session's user: %v (-want +got):\n%s", err, diff)
		}
		if got.Organisation != want.Organisation || got.CreatedAt != want.CreatedAt || got.SeenAt != want.SeenAt || got.ExpiresAt != want.ExpiresAt {
			t.Errorf("the session is %+v, want %+v", got, want)
		}
	}
	if other, _ := h.signIn("ada"); other == token {
		t.Error("two sessions have one token")
	}
	if err := h.auth.Sessions.SignOut(t.Context(), s); err != nil || !h.ended(token) {
		t.Errorf("signed out: %v, ended %v", err, h.ended(token))
	}
	if err := h.auth.Sessions.SignOut(t.Context(), s); err != nil { // again, which changes nothing
		t.Error(err)
	}
	h.told(
		1,
		`user.signed_in authentication 3: Ada on user Ada {"address":"192.0.2.1"}`,
		`user.signed_in authentication 3: Ada on user Ada null`,
		`user.signed_out authentication 3: Ada on user Ada null`,
	)
}

// TestSignInTellsNothing: whoever guesses gets one answer, in the same words,
// for names that are there and those that are not.
func TestSignInTellsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	_, s := h.signIn("ada")
	h.enrol(&s)
	for i, row := range [][3]string{
		{"ada", "wrong", ""},
		{"ada", "wrong", "123456"},
		{"nobody", "wrong", ""},
		{"nobody", rightPassword, "123456"},
		{"", "", ""},
		{"ada", "", ""},
		{"a\x00da", rightPassword, ""},
		{strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20)},
		{"\xff", "\xff", "\xff"},
	} {
		err := h.try(row[0], row[1], row[2], fmt.Sprint("10.0.0.", i))
		if want(t, fmt.Sprintf("%.20q", row), err, db.Unauthenticated, "", "the name or the password is wrong"); err.Error() != "the name or the password is wrong" {
			t.Errorf("%.20q: %v", row, err)
		}
	}
	want(t, "the right password", h.try("ada", rightPassword, "", "10.0.1.1"), db.CodeNeeded, "code", "enter the code")
	want(t, "a wrong code", h.try("ada", rightPassword, "000000", strings.Repeat("9", 200)), db.Unauthenticated, "code", "this code is wrong")
	h.told(
		3,
		`user.sign_in_refused authentication 5: ada on user ada {"address":"10.0.0.0","reason":"wrong_password"}`,
		`user.sign_in_refused authentication 5: ada on user ada {"address":"10.0.0.1","reason":"wrong_password"}`,
		`user.sign_in_refused authentication 5: system on user nobody {"address":"10.0.0.2","reason":"unknown_name"}`,
		`user.sign_in_refused authentication 5: system on user nobody {"address":"10.0.0.3","reason":"unknown_name"}`,
		`user.sign_in_refused authentication 5: system on user nobody {"address":"10.0.0.4","reason":"unknown_name"}`,
		`user.sign_in_refused authentication 5: ada on user ada {"address":"10.0.0.5","reason":"wrong_password"}`,
		`user.sign_in_refused authentication 5: system on user nobody {"address":"10.0.0.6","reason":"unknown_name"}`,
		`user.sign_in_refused authentication 5: system on user nobody {"address":"10.0.0.7","reason":"unknown_name"}`,
		`user.sign_in_refused authentication 5: system on user nobody {"address":"10.0.0.8","reason":"unknown_name"}`,
		`user.sign_in_refused authentication 5: ada on user ada {"address":"10.0.1.1","reason":"code_needed"}`,
		`user.sign_in_refused authentication 5: ada on user ada {"address":"`+strings.Repeat("9", 64)+`","reason":"wrong_code"}`,
	)
}

// TestSignInIsThrottled: five wrong passwords for a name from an address shut
// both out together for a while, the right password included, and names that
// nobody has alike. Other clients of the name are not shut out.
func TestSignInIsThrottled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ada", "nobody"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.user("ada", auth.Admin)
			h.user("bob", auth.Viewer)
			for i, typed := range []string{name, strings.ToUpper(name), " " + name, name, name} {
				want(t, fmt.Sprint("try ", i), h.try(typed, "wrong", "", "192.0.2.1"), db.Unauthenticated, "", "is wrong")
				h.pass(time.Minute)
			}
			before := len(h.log())
			want(t, "a sixth", h.try(name, rightPassword, "", "192.0.2.1"), db.Throttled, "", "too many failed attempts; wait 10 minutes and try again")
			if after := len(h.log()); after != before {
				t.Errorf("%d events of tries that were not made", after-before)
			}
			if err := h.try("bob", rightPassword, "", "192.0.2.1"); err != nil {
				t.Errorf("another name: %v", err)
			}
			if err := h.try("ada", rightPassword, "", "192.0.2.2"); err != nil {
				t.Errorf("another address: %v", err)
			}
			h.pass(10 * time.Minute)
			want(t, "a try that came back", h.try(name, "wrong", "", "192.0.2.1"), db.Unauthenticated, "", "is wrong")
			want(t, "and one that did not", h.try(name, "wrong", "", "192.0.2.1"), db.Throttled, "", "wait a minute")
			h.pass(time.Minute)
			if err := h.try("ada", rightPassword, "", "192.0.2.1"); err != nil {
				t.Errorf("after the wait: %v", err)
			}
		})
	}
}

// TestSignInForgives: who gets in has all tries anew, and tries that are made
// at once are counted before they are judged.
func TestSignInForgives(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	for range 3 {
		for range 4 {
			want(t, "a mistake", h.try("ada", "wrong", "", "192.0.2.1"), db.Unauthenticated, "", "is wrong")
		}
		if err := h.try("ada", rightPassword, "", "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	outcomes := make(chan error, 30)
	for range cap(outcomes) {
		all.Go(func() {
			_, _, err := h.auth.Sessions.SignIn(context.Background(), auth.SignInAttempt{Name: "ada", Password: "wrong", Address: "192.0.2.1"})
			outcomes <- err
		})
	}
	all.Wait()
	close(outcomes)
	judged := 0
	for err := range outcomes {
		if db.Is(err, db.Unauthenticated) {
			judged++
		} else {
			want(t, "one too many", err, db.Throttled, "", "wait 15 minutes")
		}
	}
	if judged != 5 {
		t.Errorf("%d tries were judged, want 5", judged)
	}
}

// TestManySignIns: each of many at once gets a session of its own.
func TestManySignIns(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	tokens := make([]string, 20)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			var err error
			tokens[i], _, err = h.auth.Sessions.SignIn(context.Background(), auth.SignInAttempt{Name: "ada", Password: rightPassword, Address: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	distinct := map[string]bool{}
	for _, token := range tokens {
		distinct[token] = true
		if h.ended(token) {
			t.Errorf("no session of %q", token)
		}
	}
	if len(distinct) != len(tokens) {
		t.Errorf("%d tokens, want %d", len(distinct), len(tokens))
	}
}

// TestFailedSignIns: what the store can't do uses up no try, neither of the
// password nor of the code.
func TestFailedSignIns(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	_, s := h.signIn("ada")
	a, _ := h.enrol(&s)
	h.pass(time.Minute)
	tamper(t, h.path, "ALTER TABLE sessions RENAME TO gone")
	for range 6 {
		if err := h.try("ada", rightPassword, a.code(h.now()), "192.0.2.1"); err == nil || db.Is(err, db.Throttled) {
			t.Fatalf("without a table of sessions: %v", err)
		}
	}
	tamper(t, h.path, "ALTER TABLE gone RENAME TO sessions")
	if err := h.try("ada", rightPassword, a.code(h.now()), "192.0.2.1"); err != nil {
		t.Errorf("when it can again: %v", err)
	}
}
