package auth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
)

func TestRefusedPasswords(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
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
		_, err := h.auth.Users.Create(t.Context(), h.by(), "Ada Lovelace", auth.Admin, row.password)
		want(t, fmt.Sprintf("%.40q", row.password), err, db.Invalid, "password", row.want)
	}
}

// TestPasswords: what is typed lets in, in whichever form of Unicode, and
// nothing that merely looks like it.
func TestPasswords(t *testing.T) {
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
			h := newHouse(t)
			if _, err := h.auth.Users.Create(t.Context(), h.by(), "u", auth.Viewer, row.password); err != nil {
				t.Fatal(err)
			}
			if _, _, err := h.auth.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "u", Password: row.same}); err != nil {
				t.Errorf("%q for %q: %v", row.same, row.password, err)
			}
			_, _, err := h.auth.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "u", Password: row.other})
			want(t, row.other, err, db.Unauthenticated, "", "the name or the password is wrong")
		})
	}
}

// TestPasswordChanges: a new password ends sessions.
func TestPasswordChanges(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	ada := h.user("ada", auth.Admin)
	h.user("bob", auth.Viewer)
	first, s := h.signIn("ada")
	second, _ := h.signIn("ada")
	bobs, _ := h.signIn("bob")
	before := len(h.log())

	for _, row := range []struct{ current, next, param, want string }{
		{"wrong password", otherPassword, "current", "not your current password"},
		{"", otherPassword, "current", "not your current password"},
		{rightPassword, rightPassword, "next", "is the current one"},
		{rightPassword, "short", "next", "at least 12 characters"},
		{rightPassword, "Ada, Ada, Ada, 1", "next", "easy to guess"},
	} {
		want(t, row.current+" → "+row.next, h.changePassword(&s, row.current, row.next), db.Invalid, row.param, row.want)
	}
	h.pass(time.Minute)
	if err := h.changePassword(&s, rightPassword, otherPassword); err != nil {
		t.Fatal(err)
	}
	if !h.ended(first) || !h.ended(second) || h.ended(bobs) { // the session goes on under another token
		t.Errorf("ended: first %v, second %v, bob's %v", h.ended(first), h.ended(second), h.ended(bobs))
	}
	if _, _, err := h.auth.Sessions.SignIn(ctx, auth.SignInAttempt{Name: "ada", Password: rightPassword}); !db.Is(err, db.Unauthenticated) {
		t.Errorf("the former password: %v", err)
	}
	if u, err := h.auth.Users.ByName(ctx, h.org.Org, "ada"); err != nil || u.UpdatedAt != db.Timestamp(h.now()) {
		t.Errorf("the user is %+v, %v", u, err)
	}
	if err := h.auth.Users.SetPassword(ctx, db.Actor{ID: "system"}, ada.ID, rightPassword); err != nil || !h.ended(first) || h.ended(bobs) {
		t.Errorf("set by another: %v; ended: first %v, bob's %v", err, h.ended(first), h.ended(bobs))
	}
	want(t, "one's own as another's", h.auth.Users.SetPassword(ctx, s.Actor(), ada.ID, otherPassword), db.Conflict, "", "asks for the current password or a code")
	want(t, "a poor one", h.auth.Users.SetPassword(ctx, h.by(), ada.ID, "password1234"), db.Invalid, "password", "easy to guess")
	want(t, "after the end", h.changePassword(&s, rightPassword, otherPassword), db.Unauthenticated, "", "sign in again")
	h.told(
		before,
		`user.check_refused authentication 5: ada on user ada {"reason":"wrong_password"}`,
		`user.check_refused authentication 5: ada on user ada {"reason":"wrong_password"}`,
		`user.password_changed authentication 5: ada on user ada {"sessions_ended":1}`,
		`user.sign_in_refused authentication 5: ada on user ada {"reason":"wrong_password"}`,
		`user.password_changed authentication 5: system on user ada {"sessions_ended":1}`,
	)
}

// TestOwnPasswordIsThrottled: a session that was left open is no way to guess
// the password.
func TestOwnPasswordIsThrottled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	_, s := h.signIn("ada")
	for range 5 {
		err := h.changePassword(&s, "wrong", otherPassword)
		want(t, "a guess", err, db.Invalid, "current", "not your current password")
	}
	err := h.changePassword(&s, rightPassword, otherPassword)
	want(t, "the sixth try", err, db.Throttled, "", "wait 15 minutes")
	h.pass(15 * time.Minute)
	if err := h.changePassword(&s, rightPassword, otherPassword); err != nil {
		t.Error(err)
	}
}
