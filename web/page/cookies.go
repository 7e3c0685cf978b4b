package page

import (
	"encoding/base64"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"govsvc/web/ui"
)

// The cookies of this package.
const (
	sessionCookie = "govsvc_session"
	flashCookie   = "govsvc_flash"
)

// cookieName adds the prefix __Host- over TLS. No other site, not even one of a
// sub-domain, can set a cookie with this prefix.
func (s *Server) cookieName(r *http.Request, name string) string {
	if s.Secure(r) {
		return "__Host-" + name
	}
	return name
}

// Cookie returns the value of a cookie, or "".
func (r *Request) Cookie(name string) string {
	c, err := r.HTTP.Cookie(r.server.cookieName(r.HTTP, name))
	if err != nil {
		return ""
	}
	return c.Value
}

// SetCookie sets a cookie that is hidden from scripts and not sent by forms of
// other sites. It ends after life, or with the browser if that is 0.
func (r *Request) SetCookie(name, value string, life time.Duration) {
	http.SetCookie(r.Writer, &http.Cookie{ //nolint:gosec // Secure over TLS only
		Name: r.server.cookieName(r.HTTP, name), Value: value, Path: "/", MaxAge: int(life.Seconds()),
		Secure: r.server.Secure(r.HTTP), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// ClearCookie removes a cookie.
func (r *Request) ClearCookie(name string) { r.SetCookie(name, "", -time.Second) }

// SetSession gives the browser the token of its session.
func (r *Request) SetSession(token string) { r.SetCookie(sessionCookie, token, 0) }

// ClearSession removes the token from the browser. It does not end the session.
func (r *Request) ClearSession() { r.ClearCookie(sessionCookie) }

// Flash shows a message on the next page, once.
func (r *Request) Flash(message string) {
	if len(message) > 1000 {
		message = strings.ToValidUTF8(message[:1000], "")
	}
	r.SetCookie(flashCookie, base64.RawURLEncoding.EncodeToString([]byte(message)), time.Minute)
}

// takeFlash returns the message of the previous page and removes it.
func takeFlash(r *Request) string {
	value := r.Cookie(flashCookie)
	if value == "" {
		return ""
	}
	r.ClearCookie(flashCookie)
	message, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || !utf8.Valid(message) { // not written by Flash
		return ""
	}
	return string(message)
}

// oneTimeValue is a value that one user sees once.
type oneTimeValue struct {
	user  string
	value any
}

// RedirectOnce sends the browser to a page and gives that page a value that can be
// read once, such as a new key. The value stays in memory, for 10 minutes at most.
func (r *Request) RedirectOnce(path string, value any) error {
	ticket := r.server.shown.Put(oneTimeValue{r.Session.User.ID, value})
	return r.Redirect(ui.WithQuery(path, "once", ticket))
}

// TakeOnce returns the value that RedirectOnce gave to this page. It returns nil
// for the second request and for another user.
func (r *Request) TakeOnce() any {
	found, ok := r.server.shown.Take(r.HTTP.URL.Query().Get("once"))
	if !ok || found.user != r.Session.User.ID {
		return nil
	}
	return found.value
}
