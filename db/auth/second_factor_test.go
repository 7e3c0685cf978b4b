package auth_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// authenticator is an authenticator app (RFC 6238).
type authenticator []byte

func newAuthenticator(t *testing.T, secret string) authenticator {
	t.Helper()
	key, err := base32.StdEncoding.DecodeString(secret)
	if err != nil || len(key) != 20 {
		t.Fatalf("got %d bytes of secret, %v", len(key), err)
	}
	return key
}

func (a authenticator) code(at time.Time) string {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(at.Unix()/30))
	mac := hmac.New(sha1.New, a)
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	four := sum[sum[19]&15:][:4]
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(four)&(1<<31-1))%1e6)
}

// enableSecondFactor turns on a second factor for the session's user.
func (f *fixture) enableSecondFactor(s *auth.Session) (authenticator, []string) {
	f.t.Helper()
	begun, err := f.Account.BeginSecondFactor(f.t.Context(), *s)
	if err != nil {
		f.t.Fatal(err)
	}
	a := newAuthenticator(f.t, begun.Secret)
	codes, err := f.confirmFactor(s, a.code(f.clock.Now()))
	if err != nil {
		f.t.Fatal(err)
	}
	return a, codes
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.addUser("Ada Lovelace", auth.Admin)
	token, s := f.signIn("ada lovelace")
	_, err := f.confirmFactor(&s, "123456")
	wantError(t, "nothing begun", err, db.Conflict, "", "has not begun to set up")
	begun, err := f.Account.BeginSecondFactor(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.Account.BeginSecondFactor(ctx, s); err != nil || again != begun {
		t.Errorf("got %+v, %v at the second call, want %+v", again, err, begun)
	}
	uri, err := url.Parse(begun.URI)
	if err != nil || uri.Scheme != "otpauth" || uri.Host != "totp" || uri.Path != "/govsvc:Ada Lovelace" || uri.Query().Get("secret") != begun.Secret ||
		uri.RawQuery != "algorithm=SHA1&digits=6&issuer=govsvc&period=30&secret="+begun.Secret {
		t.Errorf("the URI is %s, %v", begun.URI, err)
	}
	f.signIn("ada lovelace") // has no effect before it is confirmed
	a := newAuthenticator(t, begun.Secret)
	for _, code := range []string{"", "12345", "1234567", "not a code", a.code(testkit.Start.Add(-time.Minute)), a.code(testkit.Start.Add(time.Minute)), strings.Repeat("1", 1<<20)} {
		_, err := f.confirmFactor(&s, code)
		wantError(t, fmt.Sprintf("confirmed by %.10q", code), err, db.Invalid, "code", "check the clock")
	}
	codes, err := f.confirmFactor(&s, a.code(testkit.Start))
	if err != nil || len(codes) != 10 {
		t.Fatalf("codes %q, %v", codes, err)
	}
	distinct := map[string]bool{}
	for _, code := range codes {
		if distinct[code] = true; !regexp.MustCompile(`^([a-z2-7]{4}-){3}[a-z2-7]{4}$`).MatchString(code) {
			t.Errorf("got recovery code %q", code)
		}
	}
	if len(distinct) != 10 {
		t.Errorf("got recovery codes %q, want different ones", codes)
	}
	if !f.ended(token) || !s.User.SecondFactor || s.User.RecoveryCodes != 10 { // s has been renewed
		t.Errorf("got session %+v, %v", s, err)
	}
	_, err = f.Account.BeginSecondFactor(ctx, s)
	wantError(t, "another", err, db.Conflict, "", "a second factor is already on")
	_, err = f.confirmFactor(&s, a.code(testkit.Start))
	wantError(t, "confirmed again", err, db.Conflict, "", "has not begun to set up")
	f.wantEvents(
		1,
		signedIn("Ada Lovelace", "null"),
		signedIn("Ada Lovelace", "null"),
		`user.second_factor_added authentication 5: Ada Lovelace on user Ada Lovelace {"sessions_ended":1}`,
	)
}

// TestSecondFactor_Vectors checks the codes of RFC 6238, appendix B, for SHA-1: the
// last six of the eight digits.
func TestSecondFactor_Vectors(t *testing.T) {
	t.Parallel()
	for second, code := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			clock := testkit.NewClock(time.Unix(second, 0))
			service := auth.New(testdb.Open(t, db.Options{Now: clock.Now, Random: &repeated{text: "12345678901234567890"}}))
			if _, err := service.Users.CreateFirst(t.Context(), db.Actor{}, "ada", rightPassword); err != nil {
				t.Fatal(err)
			}
			_, s, err := service.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: rightPassword})
			if err != nil {
				t.Fatal(err)
			}
			begun, err := service.Account.BeginSecondFactor(t.Context(), s)
			if err != nil || begun.Secret != "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" {
				t.Fatal(begun, err)
			}
			if _, _, err = service.Account.ConfirmSecondFactor(t.Context(), s, code[:3]+" "+code[3:]); err != nil {
				t.Errorf("the code at %d: %v", second, err)
			}
		})
	}
}

// repeated is a source of randomness that returns the same bytes for each secret.
type repeated struct {
	text  string
	count byte
}

func (r *repeated) Read(p []byte) (int, error) {
	copy(p, r.text)
	if len(p) == 10 { // a recovery code, which must differ from the others
		r.count++
		p[0] = r.count
	}
	return len(p), nil
}

// TestSecondFactor_CodeIsValidOnce checks that a code is valid once, and that codes of
// earlier steps are then refused. The clock of the app may be one step early or late.
func TestSecondFactor_CodeIsValidOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	_, s := f.signIn("ada")
	a, _ := f.enableSecondFactor(&s)
	const step = 30 * time.Second
	for i, row := range []struct {
		pass, code time.Duration // the time of the code, from now
		ok         bool
	}{
		{0, 0, false}, // it confirmed the second factor
		{step, 0, true},
		{0, 0, false},
		{0, -step, false},
		{0, step, true}, // an early clock
		{0, 0, false},   // of an earlier step
		{step, 0, false},
		{step, -2 * step, false},
		{step, -step, true}, // a late clock
		{0, 0, true},
		{step, 2 * step, false},
		{24 * time.Hour, 0, true},
	} {
		f.clock.Advance(row.pass)
		err := f.trySignIn("ada", rightPassword, a.code(f.clock.Now().Add(row.code)), fmt.Sprint(i))
		if row.ok && err != nil {
			t.Errorf("row %d: %v", i, err)
		} else if !row.ok {
			wantError(t, fmt.Sprint("row ", i), err, db.Unauthenticated, "code", "wrong or was used before")
		}
	}
}

// TestSecondFactor_ParallelCode checks that one of several parallel calls with the same
// code succeeds.
func TestSecondFactor_ParallelCode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	_, s := f.signIn("ada")
	a, codes := f.enableSecondFactor(&s)
	f.clock.Advance(time.Minute)
	for _, code := range []string{a.code(f.clock.Now()), codes[0]} {
		errs := make([]error, 4)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = f.trySignIn("ada", rightPassword, code, fmt.Sprint(i)) })
		}
		all.Wait()
		succeeded := 0
		for _, err := range errs {
			if err == nil {
				succeeded++
			} else {
				wantError(t, "too late", err, db.Unauthenticated, "code", "was used before")
			}
		}
		if succeeded != 1 {
			t.Errorf("%d calls succeeded with one code, want 1", succeeded)
		}
	}
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.addUser("ada", auth.Admin)
	f.addUser("bob", auth.Admin)
	_, s := f.signIn("ada")
	a, codes := f.enableSecondFactor(&s)
	_, bobs := f.signIn("bob")
	_, bobsCodes := f.enableSecondFactor(&bobs)
	before := len(f.events())
	zero := strings.NewReplacer("o", "0", "l", "1")
	var want []string
	for i, row := range []struct {
		code string
		ok   bool
	}{
		{codes[0], true},
		{codes[0], false},
		{strings.ToUpper(strings.ReplaceAll(codes[1], "-", " ")), true},
		{" " + zero.Replace(strings.ReplaceAll(codes[2], "-", "")) + "\n", true},
		{codes[1], false},
		{bobsCodes[0], false},
		{codes[3][:18], false},
	} {
		err := f.trySignIn("ada", rightPassword, row.code, fmt.Sprint(i))
		if row.ok && err != nil {
			t.Errorf("%q: %v", row.code, err)
		} else if !row.ok {
			wantError(t, row.code, err, db.Unauthenticated, "code", "wrong or was used before")
		}
		if row.ok {
			want = append(want, signedIn("ada", fmt.Sprintf(`{"address":"%d","second_factor":"recovery_code"}`, i)))
		} else {
			want = append(want, signInRefused("ada", fmt.Sprint(i), "wrong_code"))
		}
	}
	if u, err := f.Users.ByName(ctx, f.org.Org, "ada"); err != nil || u.RecoveryCodes != 7 {
		t.Errorf("got user %+v, %v", u, err)
	}

	_, err := f.Account.NewRecoveryCodes(ctx, s, "123")
	wantError(t, "new codes with a wrong code", err, db.Invalid, "code", "this code is wrong")
	f.clock.Advance(time.Minute)
	fresh, err := f.Account.NewRecoveryCodes(ctx, s, a.code(f.clock.Now()))
	if err != nil || len(fresh) != 10 || cmp.Equal(fresh, codes) {
		t.Fatalf("new codes %q, %v", fresh, err)
	}
	wantError(t, "a replaced code", f.trySignIn("ada", rightPassword, codes[5], "x"), db.Unauthenticated, "code", "wrong")
	if err := f.trySignIn("ada", rightPassword, fresh[9], "x"); err != nil {
		t.Error(err)
	}
	for _, line := range f.events()[before:] {
		for _, code := range append(codes, fresh...) {
			if strings.Contains(line, code) {
				t.Errorf("the audit log contains a code: %s", line)
			}
		}
	}
	f.wantEvents(before, append(want,
		codeRefused("ada"),
		`user.recovery_codes_made authentication 5: ada on user ada null`,
		signInRefused("ada", "x", "wrong_code"),
		signedIn("ada", `{"address":"x","second_factor":"recovery_code"}`),
	)...)
}

func TestRemoveSecondFactor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	ada := f.addUser("ada", auth.Admin)
	_, s := f.signIn("ada")
	wantError(t, "none is on", f.removeFactor(&s, "123456"), db.Conflict, "", "no second factor is on")
	if err := f.Users.RemoveSecondFactor(ctx, operator, ada.ID); err != nil { // changes nothing
		t.Error(err)
	}
	a, codes := f.enableSecondFactor(&s)
	before := len(f.events())
	wantError(t, "the own account", f.Users.RemoveSecondFactor(ctx, s.Actor(), ada.ID), db.Conflict, "", "asks for the current password or a code")
	wantError(t, "without a code", f.removeFactor(&s, ""), db.Invalid, "code", "this code is wrong")
	wantError(t, "with a used code", f.removeFactor(&s, a.code(f.clock.Now())), db.Invalid, "code", "used before")
	f.clock.Advance(time.Minute)
	if err := f.removeFactor(&s, a.code(f.clock.Now())); err != nil {
		t.Fatal(err)
	}
	if _, now := f.signIn("ada"); now.User.SecondFactor || now.User.RecoveryCodes != 0 {
		t.Errorf("got user %+v", now.User)
	}
	again, _ := f.enableSecondFactor(&s)
	if string(again) == string(a) {
		t.Error("the new secret is the old one")
	}
	wantError(t, "a removed recovery code", f.trySignIn("ada", rightPassword, codes[0], ""), db.Unauthenticated, "code", "wrong")
	if err := f.Users.RemoveSecondFactor(ctx, operator, ada.ID); err != nil {
		t.Fatal(err)
	}
	f.signIn("ada")
	f.wantEvents(
		before,
		codeRefused("ada"),
		codeRefused("ada"),
		`user.second_factor_removed authentication 5: ada on user ada {"sessions_ended":0}`,
		signedIn("ada", "null"),
		`user.second_factor_added authentication 5: ada on user ada {"sessions_ended":1}`,
		signInRefused("ada", "", "wrong_code"),
		`user.second_factor_removed authentication 5: system on user ada {"sessions_ended":1}`,
		signedIn("ada", "null"),
	)
}

// TestSecondFactor_Throttled checks that the limit of wrong codes holds for all addresses
// together, and for sign-in and the own account together.
func TestSecondFactor_Throttled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.addUser("ada", auth.Admin)
	_, s := f.signIn("ada")
	a, codes := f.enableSecondFactor(&s)
	for i := range 3 {
		wantError(t, "a guess", f.trySignIn("ada", rightPassword, "000000", fmt.Sprint(i)), db.Unauthenticated, "code", "wrong")
		wantError(t, "no code", f.trySignIn("ada", rightPassword, "", fmt.Sprint(i)), db.CodeNeeded, "code", "enter the code")
	}
	for range 2 {
		_, err := f.Account.NewRecoveryCodes(ctx, s, "000000")
		wantError(t, "a guess in a session", err, db.Invalid, "code", "wrong")
	}
	f.clock.Advance(30 * time.Minute)
	wantError(t, "after the limit", f.trySignIn("ada", rightPassword, a.code(f.clock.Now()), "9"), db.Throttled, "", "wait 30 minutes")
	wantError(t, "a recovery code", f.trySignIn("ada", rightPassword, codes[0], "10"), db.Throttled, "", "wait 30 minutes")
	wantError(t, "in a session", f.removeFactor(&s, a.code(f.clock.Now())), db.Throttled, "", "wait 30 minutes")
	wantError(t, "the password alone", f.trySignIn("ada", rightPassword, "", "11"), db.CodeNeeded, "code", "enter the code")
	f.clock.Advance(30 * time.Minute)
	if err := f.trySignIn("ada", rightPassword, a.code(f.clock.Now()), "9"); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

// TestSecondFactor_TwoSessions checks that only one of two sessions sets up a second
// factor.
func TestSecondFactor_TwoSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.addUser("ada", auth.Admin)
	_, first := f.signIn("ada")
	_, second := f.signIn("ada")
	begun, err := f.Account.BeginSecondFactor(ctx, second)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := f.enableSecondFactor(&first)
	_, err = f.confirmFactor(&second, newAuthenticator(t, begun.Secret).code(f.clock.Now()))
	wantError(t, "the other session", err, db.Unauthenticated, "", "sign in again")
	f.clock.Advance(time.Minute)
	if err := f.trySignIn("ada", rightPassword, a.code(f.clock.Now()), ""); err != nil {
		t.Error(err)
	}
	if err := f.Sessions.SignOut(ctx, second); err != nil {
		t.Fatal(err)
	}
	_, err = f.confirmFactor(&second, "123456")
	wantError(t, "after the end of the session", err, db.Unauthenticated, "", "sign in again")
	_, err = f.Account.NewRecoveryCodes(ctx, second, "123456")
	wantError(t, "codes after the end of the session", err, db.Unauthenticated, "", "sign in again")
}
