package web

import (
	"encoding/base64"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// The cookies. Over TLS their names start with __Host-, which no other site,
// not even one of a sub-domain, can set.
const (
	sessionCookie = "govsvc_session"
	pendingCookie = "govsvc_signin" // ticket of a sign-in that waits for a code
	flashCookie   = "govsvc_flash"
)

func (v *visit) cookieName(name string) string {
	if v.Secure(v.r) {
		return "__Host-" + name
	}
	return name
}

// cookie is a cookie's value, "" without one.
func (v *visit) cookie(name string) string {
	c, err := v.r.Cookie(v.cookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie gives the browser a cookie that no script can read and no other
// site's form sends. It ends after life, or with the browser if that is 0.
func (v *visit) setCookie(name, value string, life time.Duration) {
	http.SetCookie(v.w, &http.Cookie{ //nolint:gosec // Secure wherever TLS is
		Name: v.cookieName(name), Value: value, Path: "/", MaxAge: int(life.Seconds()),
		Secure: v.Secure(v.r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (v *visit) clearCookie(name string) {
	http.SetCookie(v.w, &http.Cookie{ //nolint:gosec // as above
		Name: v.cookieName(name), Path: "/", MaxAge: -1,
		Secure: v.Secure(v.r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// flash has the next page say something: what has just been done.
func (v *visit) flash(message string) {
	if len(message) > 1000 {
		message = strings.ToValidUTF8(message[:1000], "")
	}
	v.setCookie(flashCookie, base64.RawURLEncoding.EncodeToString([]byte(message)), time.Minute)
}

// takeFlash returns what the page before wanted said, once.
func (v *visit) takeFlash() string {
	value := v.cookie(flashCookie)
	if value == "" {
		return ""
	}
	v.clearCookie(flashCookie)
	message, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || !utf8.Valid(message) { // not of our making
		return ""
	}
	return string(message)
}

// once is something that is shown to one user, once.
type once struct {
	user  string
	value any
}

// keepOnce keeps something for the page that the user is redirected to, such as
// a secret that is shown once: v.redirect("/keys/made?once=" + v.keepOnce(key)).
// It stays in memory, ten minutes at most.
func (v *visit) keepOnce(value any) (ticket string) {
	return v.shown.put(once{v.session.User.ID, value})
}

// takeOnce returns what was kept for this page, the first time; nil after that,
// and for another user.
func (v *visit) takeOnce() any {
	kept, ok := v.shown.take(v.r.URL.Query().Get("once"))
	if !ok || kept.user != v.session.User.ID {
		return nil
	}
	return kept.value
}
