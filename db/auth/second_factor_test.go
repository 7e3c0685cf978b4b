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
)

// app is an authenticator app, after RFC 6238.
type app []byte

func newApp(t *testing.T, secret string) app {
	t.Helper()
	key, err := base32.StdEncoding.DecodeString(secret)
	if err != nil || len(key) != 20 {
		t.Fatalf("%d bytes of secret, %v", len(key), err)
	}
	return key
}

func (a app) code(at time.Time) string {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(at.Unix()/30))
	mac := hmac.New(sha1.New, a)
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	four := sum[sum[19]&15:][:4]
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(four)&(1<<31-1))%1e6)
}

// enrol turns on a second factor for the session's user.
func (h *house) enrol(s *auth.Session) (app, []string) {
	h.t.Helper()
	begun, err := h.auth.Account.BeginSecondFactor(h.t.Context(), *s)
	if err != nil {
		h.t.Fatal(err)
	}
	a := newApp(h.t, begun.Secret)
	codes, err := h.confirmFactor(s, a.code(h.now()))
	if err != nil {
		h.t.Fatal(err)
	}
	return a, codes
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	h.user("Ada Lovelace", auth.Admin)
	token, s := h.signIn("ada lovelace")
	_, err := h.confirmFactor(&s, "123456")
	want(t, "nothing begun", err, db.Conflict, "", "has not begun to set up")
	begun, err := h.auth.Account.BeginSecondFactor(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := h.auth.Account.BeginSecondFactor(ctx, s); err != nil || again != begun {
		t.Errorf("begun again: %+v, %v, was %+v", again, err, begun)
	}
	uri, err := url.Parse(begun.URI)
	if err != nil || uri.Scheme != "otpauth" || uri.Host != "totp" || uri.Path != "/govsvc:Ada Lovelace" || uri.Query().Get("secret") != begun.Secret ||
		uri.RawQuery != "algorithm=SHA1&digits=6&issuer=govsvc&period=30&secret="+begun.Secret {
		t.Errorf("the URI is %s, %v", begun.URI, err)
	}
	h.signIn("ada lovelace") // not in force before it is confirmed
	a := newApp(t, begun.Secret)
	for _, code := range []string{"", "12345", "1234567", "not a code", a.code(at.Add(-time.Minute)), a.code(at.Add(time.Minute)), strings.Repeat("1", 1<<20)} {
		_, err := h.confirmFactor(&s, code)
		want(t, fmt.Sprintf("confirmed by %.10q", code), err, db.Invalid, "code", "check the clock")
	}
	codes, err := h.confirmFactor(&s, a.code(at))
	if err != nil || len(codes) != 10 {
		t.Fatalf("codes %q, %v", codes, err)
	}
	distinct := map[string]bool{}
	for _, code := range codes {
		if distinct[code] = true; !regexp.MustCompile(`^([a-z2-7]{4}-){3}[a-z2-7]{4}$`).MatchString(code) {
			t.Errorf("recovery code %q", code)
		}
	}
	if len(distinct) != 10 {
		t.Errorf("recovery codes %q", codes)
	}
	if !h.ended(token) || !s.User.SecondFactor || s.User.RecoveryCodes != 10 { // s has been renewed
		t.Errorf("the session is %+v, %v", s, err)
	}
	_, err = h.auth.Account.BeginSecondFactor(ctx, s)
	want(t, "another", err, db.Conflict, "", "a second factor is already on")
	_, err = h.confirmFactor(&s, a.code(at))
	want(t, "confirmed again", err, db.Conflict, "", "has not begun to set up")
	h.told(
		1,
		`user.signed_in authentication 3: Ada Lovelace on user Ada Lovelace null`,
		`user.signed_in authentication 3: Ada Lovelace on user Ada Lovelace null`,
		`user.second_factor_added authentication 5: Ada Lovelace on user Ada Lovelace {"sessions_ended":1}`,
	)
}

// TestVectors: the codes of RFC 6238, appendix B, for SHA-1; of eight digits
// the last six.
func TestVectors(t *testing.T) {
	t.Parallel()
	for second, code := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			store, err := db.Open(t.Context(), db.Options{
				Path: newPath(t), Now: func() time.Time { return time.Unix(second, 0) },
				Random: &repeated{text: "12345678901234567890"},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			if _, err := auth.New(store).Users.CreateFirst(t.Context(), db.Actor{}, "ada", rightPassword); err != nil {
				t.Fatal(err)
			}
			_, s, err := auth.New(store).Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: rightPassword})
			if err != nil {
				t.Fatal(err)
			}
			begun, err := auth.New(store).Account.BeginSecondFactor(t.Context(), s)
			if err != nil || begun.Secret != "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" {
				t.Fatal(begun, err)
			}
			if _, _, err = auth.New(store).Account.ConfirmSecondFactor(t.Context(), s, code[:3]+" "+code[3:]); err != nil {
				t.Errorf("the code at %d: %v", second, err)
			}
		})
	}
}

// repeated is a source of secrets that gives each the same bytes.
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

// TestCodesCountOnce: the code of a step lets in once, and none of an earlier
// step after it; a clock may be a step early or late.
func TestCodesCountOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	_, s := h.signIn("ada")
	a, _ := h.enrol(&s)
	const step = 30 * time.Second
	for i, row := range []struct {
		pass, code time.Duration // the code's time, from now
		ok         bool
	}{
		{0, 0, false}, // it confirmed the second factor
		{step, 0, true},
		{0, 0, false},
		{0, -step, false},
		{0, step, true}, // an early clock
		{0, 0, false},   // an earlier step's
		{step, 0, false},
		{step, -2 * step, false},
		{step, -step, true}, // a late clock
		{0, 0, true},
		{step, 2 * step, false},
		{24 * time.Hour, 0, true},
	} {
		h.pass(row.pass)
		err := h.try("ada", rightPassword, a.code(h.now().Add(row.code)), fmt.Sprint(i))
		if row.ok && err != nil {
			t.Errorf("row %d: %v", i, err)
		} else if !row.ok {
			want(t, fmt.Sprint("row ", i), err, db.Unauthenticated, "code", "wrong or was used before")
		}
	}
}

// TestCodeInARace: of many who use one code at once, one gets in.
func TestCodeInARace(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	_, s := h.signIn("ada")
	a, codes := h.enrol(&s)
	h.pass(time.Minute)
	for _, code := range []string{a.code(h.now()), codes[0]} {
		errs := make([]error, 4)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = h.try("ada", rightPassword, code, fmt.Sprint(i)) })
		}
		all.Wait()
		in := 0
		for _, err := range errs {
			if err == nil {
				in++
			} else {
				want(t, "too late", err, db.Unauthenticated, "code", "was used before")
			}
		}
		if in != 1 {
			t.Errorf("%d got in with one code", in)
		}
	}
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	h.user("ada", auth.Admin)
	h.user("bob", auth.Admin)
	_, s := h.signIn("ada")
	a, codes := h.enrol(&s)
	_, bobs := h.signIn("bob")
	_, bobsCodes := h.enrol(&bobs)
	before := len(h.log())
	zero := strings.NewReplacer("o", "0", "l", "1")
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
		err := h.try("ada", rightPassword, row.code, fmt.Sprint(i))
		if row.ok && err != nil {
			t.Errorf("%q: %v", row.code, err)
		} else if !row.ok {
			want(t, row.code, err, db.Unauthenticated, "code", "wrong or was used before")
		}
	}
	if u, err := h.auth.Users.ByName(ctx, h.org.Org, "ada"); err != nil || u.RecoveryCodes != 7 {
		t.Errorf("the user is %+v, %v", u, err)
	}

	_, err := h.auth.Account.NewRecoveryCodes(ctx, s, "123")
	want(t, "new ones by a wrong code", err, db.Invalid, "code", "this code is wrong")
	h.pass(time.Minute)
	fresh, err := h.auth.Account.NewRecoveryCodes(ctx, s, a.code(h.now()))
	if err != nil || len(fresh) != 10 || cmp.Equal(fresh, codes) {
		t.Fatalf("new codes %q, %v", fresh, err)
	}
	want(t, "a code of before", h.try("ada", rightPassword, codes[5], "x"), db.Unauthenticated, "code", "wrong")
	if err := h.try("ada", rightPassword, fresh[9], "x"); err != nil {
		t.Error(err)
	}
	for _, line := range h.log()[before:] {
		for _, code := range append(codes, fresh...) {
			if strings.Contains(line, code) {
				t.Errorf("the audit log holds a code: %s", line)
			}
		}
	}
	h.told(
		before,
		`user.signed_in authentication 3: ada on user ada {"address":"0","second_factor":"recovery_code"}`,
		`user.sign_in_refused authentication 5: ada on user ada {"address":"1","reason":"wrong_code"}`,
		`user.signed_in authentication 3: ada on user ada {"address":"2","second_factor":"recovery_code"}`,
		`user.signed_in authentication 3: ada on user ada {"address":"3","second_factor":"recovery_code"}`,
		`user.sign_in_refused authentication 5: ada on user ada {"address":"4","reason":"wrong_code"}`,
		`user.sign_in_refused authentication 5: ada on user ada {"address":"5","reason":"wrong_code"}`,
		`user.sign_in_refused authentication 5: ada on user ada {"address":"6","reason":"wrong_code"}`,
		`user.check_refused authentication 5: ada on user ada {"reason":"wrong_code"}`,
		`user.recovery_codes_made authentication 5: ada on user ada null`,
		`user.sign_in_refused authentication 5: ada on user ada {"address":"x","reason":"wrong_code"}`,
		`user.signed_in authentication 3: ada on user ada {"address":"x","second_factor":"recovery_code"}`,
	)
}

func TestRemoveSecondFactor(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	ada := h.user("ada", auth.Admin)
	_, s := h.signIn("ada")
	want(t, "none is on", h.removeFactor(&s, "123456"), db.Conflict, "", "no second factor is on")
	if err := h.auth.Users.RemoveSecondFactor(ctx, h.by(), ada.ID); err != nil { // changes nothing
		t.Error(err)
	}
	a, codes := h.enrol(&s)
	before := len(h.log())
	want(t, "one's own as another's", h.auth.Users.RemoveSecondFactor(ctx, s.Actor(), ada.ID), db.Conflict, "", "asks for the current password or a code")
	want(t, "without a code", h.removeFactor(&s, ""), db.Invalid, "code", "this code is wrong")
	want(t, "by a used code", h.removeFactor(&s, a.code(h.now())), db.Invalid, "code", "used before")
	h.pass(time.Minute)
	if err := h.removeFactor(&s, a.code(h.now())); err != nil {
		t.Fatal(err)
	}
	if _, now := h.signIn("ada"); now.User.SecondFactor || now.User.RecoveryCodes != 0 {
		t.Errorf("the user is %+v", now.User)
	}
	again, _ := h.enrol(&s)
	if string(again) == string(a) {
		t.Error("the new secret is the old one")
	}
	want(t, "a recovery code of before", h.try("ada", rightPassword, codes[0], ""), db.Unauthenticated, "code", "wrong")
	if err := h.auth.Users.RemoveSecondFactor(ctx, h.by(), ada.ID); err != nil {
		t.Fatal(err)
	}
	h.signIn("ada")
	h.told(
		before,
		`user.check_refused authentication 5: ada on user ada {"reason":"wrong_code"}`,
		`user.check_refused authentication 5: ada on user ada {"reason":"wrong_code"}`,
		`user.second_factor_removed authentication 5: ada on user ada {"sessions_ended":0}`,
		`user.signed_in authentication 3: ada on user ada null`,
		`user.second_factor_added authentication 5: ada on user ada {"sessions_ended":1}`,
		`user.sign_in_refused authentication 5: ada on user ada {"reason":"wrong_code"}`,
		`user.second_factor_removed authentication 5: system on user ada {"sessions_ended":1}`,
		`user.signed_in authentication 3: ada on user ada null`,
	)
}

// TestCodesAreThrottled: whoever has the password has few guesses at the code,
// from wherever, at the door or inside.
func TestCodesAreThrottled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	h.user("ada", auth.Admin)
	_, s := h.signIn("ada")
	a, codes := h.enrol(&s)
	for i := range 3 {
		want(t, "a guess", h.try("ada", rightPassword, "000000", fmt.Sprint(i)), db.Unauthenticated, "code", "wrong")
		want(t, "no guess", h.try("ada", rightPassword, "", fmt.Sprint(i)), db.CodeNeeded, "code", "enter the code")
	}
	for range 2 {
		_, err := h.auth.Account.NewRecoveryCodes(ctx, s, "000000")
		want(t, "a guess inside", err, db.Invalid, "code", "wrong")
	}
	h.pass(30 * time.Minute)
	want(t, "one too many", h.try("ada", rightPassword, a.code(h.now()), "9"), db.Throttled, "", "wait 30 minutes")
	want(t, "a recovery code", h.try("ada", rightPassword, codes[0], "10"), db.Throttled, "", "wait 30 minutes")
	want(t, "inside", h.removeFactor(&s, a.code(h.now())), db.Throttled, "", "wait 30 minutes")
	want(t, "the password alone", h.try("ada", rightPassword, "", "11"), db.CodeNeeded, "code", "enter the code")
	h.pass(30 * time.Minute)
	if err := h.try("ada", rightPassword, a.code(h.now()), "9"); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

// TestTwoEnrolments: of two sessions that set up a second factor, one counts.
func TestTwoEnrolments(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	h.user("ada", auth.Admin)
	_, first := h.signIn("ada")
	_, second := h.signIn("ada")
	begun, err := h.auth.Account.BeginSecondFactor(ctx, second)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := h.enrol(&first)
	_, err = h.confirmFactor(&second, newApp(t, begun.Secret).code(h.now()))
	want(t, "the other", err, db.Unauthenticated, "", "sign in again")
	h.pass(time.Minute)
	if err := h.try("ada", rightPassword, a.code(h.now()), ""); err != nil {
		t.Error(err)
	}
	if err := h.auth.Sessions.SignOut(ctx, second); err != nil {
		t.Fatal(err)
	}
	_, err = h.confirmFactor(&second, "123456")
	want(t, "after the end", err, db.Unauthenticated, "", "sign in again")
	_, err = h.auth.Account.NewRecoveryCodes(ctx, second, "123456")
	want(t, "codes after the end", err, db.Unauthenticated, "", "sign in again")
}
