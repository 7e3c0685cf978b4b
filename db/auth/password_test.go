package auth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
)

func TestPasswords_Refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, row := range []struct{ password, want string }{
		{"", "a password is needed"},
		{"tulip, noon", "at least 12 characters"}, // 11
		{"äöü äöü äöü", "at least 12 characters"}, // 11, though more bytes
		{strings.Repeat("e\u0301", 11), "at least 12 characters"},
		{strings.Repeat("x7", 100) + "x", "at most 200 characters and 1024 bytes"},
		{strings.Repeat("x", 1<<20), "at most 200 characters"},
		{strings.Repeat("😀", 200) + strings.Repeat("é", 200), "at most 200 characters"},
		{"plain tulips\nat noon", "control characters"},
		{"plain tulips\x00at noon", "control characters"},
		{"plain tulips \xff noon", "control characters"},
		{"password1234", "easy to guess"},
		{"Passw0rd!2024", "easy to guess"},
		{"P4$$w0rd-P4$$w0rd", "easy to guess"},
		{"passwordpassword", "easy to guess"},
		{"administrator", "easy to guess"},
		{"changeme12345678", "easy to guess"},
		{"aaaaaaaaaaaaaaa", "easy to guess"},
		{"abababababababab", "easy to guess"},
		{"123456789012", "easy to guess"},
		{"qwertyuiop12", "easy to guess"},
		{"abcdefghijklmnop", "easy to guess"},
		{"abcabcabcabcabc", "easy to guess"},
		{"1qaz2wsx3edc4rfv", "easy to guess"},
		{"correct horse battery staple", "easy to guess"},
		{"Ada Lovelace", "easy to guess"},
		{"ada lovelace 1815", "easy to guess"},
		{"            ", "easy to guess"},
	} {
		_, err := f.Users.Create(t.Context(), operator, "Ada Lovelace", auth.Admin, row.password)
		wantError(t, fmt.Sprintf("%.40q", row.password), err, db.Invalid, "password", row.want)
	}
}

// TestPasswords_Unicode checks that the same password in another form of Unicode is right,
// and that a similar password is wrong.
func TestPasswords_Unicode(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ password, same, other string }{
		{"plain tulips at noon", "plain tulips at noon", "Plain tulips at noon"},
		{"caf\u00e9 noir at seven", "cafe\u0301 noir at seven", "cafe noir at seven"},
		{"tulips\u00a0and\u3000lilies", "tulips and lilies", "tulips and  lilies"},
		{"  tulips at noon  ", "  tulips at noon  ", "tulips at noon"},
		{"twelve chars", "twelve chars", "twelve char"},
		{strings.Repeat("長い鍵", 66) + "終", strings.Repeat("長い鍵", 66) + "終", strings.Repeat("長い鍵", 66)},
	} {
		t.Run(row.password, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if _, err := f.Users.Create(t.Context(), operator, "u", auth.Viewer, row.password); err != nil {
				t.Fatal(err)
			}
			if _, _, err := f.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "u", Password: row.same}); err != nil {
				t.Errorf("%q for %q: %v", row.same, row.password, err)
			}
			_, _, err := f.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "u", Password: row.other})
			wantError(t, row.other, err, db.Unauthenticated, "", "the name or the password is wrong")
		})
	}
}

// TestPasswords_Change checks the change of a password, which ends sessions.
func TestPasswords_Change(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	ada := f.addUser("ada", auth.Admin)
	f.addUser("bob", auth.Viewer)
	first, s := f.signIn("ada")
	second, _ := f.signIn("ada")
	bobs, _ := f.signIn("bob")
	before := len(f.events())

	for _, row := range []struct{ current, next, param, want string }{
		{"wrong password", otherPassword, "current", "not your current password"},
		{"", otherPassword, "current", "not your current password"},
		{rightPassword, rightPassword, "next", "is the current one"},
		{rightPassword, "short", "next", "at least 12 characters"},
		{rightPassword, "Ada, Ada, Ada, 1", "next", "easy to guess"},
	} {
		wantError(t, row.current+" → "+row.next, f.changePassword(&s, row.current, row.next), db.Invalid, row.param, row.want)
	}
	f.clock.Advance(time.Minute)
	if err := f.changePassword(&s, rightPassword, otherPassword); err != nil {
		t.Fatal(err)
	}
	if !f.ended(first) || !f.ended(second) || f.ended(bobs) { // the session continues with another token
		t.Errorf("ended: first %v, second %v, bob's %v", f.ended(first), f.ended(second), f.ended(bobs))
	}
	if _, _, err := f.Sessions.SignIn(ctx, auth.SignInAttempt{Name: "ada", Password: rightPassword}); !db.Is(err, db.Unauthenticated) {
		t.Errorf("the previous password: %v", err)
	}
	if u, err := f.Users.ByName(ctx, f.org.Org, "ada"); err != nil || u.UpdatedAt != db.Timestamp(f.clock.Now()) {
		t.Errorf("got user %+v, %v", u, err)
	}
	if err := f.Users.SetPassword(ctx, operator, ada.ID, rightPassword); err != nil || !f.ended(first) || f.ended(bobs) {
		t.Errorf("set by the operator: %v; ended: first %v, bob's %v", err, f.ended(first), f.ended(bobs))
	}
	wantError(t, "the own account", f.Users.SetPassword(ctx, s.Actor(), ada.ID, otherPassword), db.Conflict, "", "asks for the current password or a code")
	wantError(t, "a guessable password", f.Users.SetPassword(ctx, operator, ada.ID, "password1234"), db.Invalid, "password", "easy to guess")
	wantError(t, "after the end of the session", f.changePassword(&s, rightPassword, otherPassword), db.Unauthenticated, "", "sign in again")
	f.wantEvents(
		before,
		`user.check_refused authentication 5: ada on user ada {"reason":"wrong_password"}`,
		`user.check_refused authentication 5: ada on user ada {"reason":"wrong_password"}`,
		`user.password_changed authentication 5: ada on user ada {"sessions_ended":1}`,
		signInRefused("ada", "", "wrong_password"),
		`user.password_changed authentication 5: system on user ada {"sessions_ended":1}`,
	)
}

// TestPasswords_ChangeIsThrottled checks that a session does not help to guess the
// password.
func TestPasswords_ChangeIsThrottled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	_, s := f.signIn("ada")
	for range 5 {
		err := f.changePassword(&s, "wrong", otherPassword)
		wantError(t, "a guess", err, db.Invalid, "current", "not your current password")
	}
	err := f.changePassword(&s, rightPassword, otherPassword)
	wantError(t, "the sixth attempt", err, db.Throttled, "", "wait 15 minutes")
	f.clock.Advance(15 * time.Minute)
	if err := f.changePassword(&s, rightPassword, otherPassword); err != nil {
		t.Error(err)
	}
}
