package web

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/server/api"
	"govsvc/server/limit"
)

// visit is one request of a page or an action, and its answer.
type visit struct {
	*Site
	w         http.ResponseWriter
	r         *http.Request
	page      *page
	requestID string
	session   auth.Session // zero where nobody has signed in
	caller    *api.Caller  // nil then
	memory    limit.Reservation
	counted   string // the user whose requests in progress count this one
}

// answer is the way that every request of a page goes.
func (s *Site) answer(p *page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Site: s, w: w, r: r, page: p, requestID: "req_" + strings.ToLower(rand.Text())}
		w.Header().Set("X-Request-Id", v.requestID)
		defer v.end()
		defer v.recover()
		if err := v.run(); err != nil {
			v.fail(err)
		}
	})
}

// run does what the request asks for, once it may.
func (v *visit) run() error {
	if err := v.limited(); err != nil {
		return err
	}
	if err := v.recognise(); err != nil {
		return err
	}
	if v.r.ContentLength != 0 && !v.signedIn() {
		limit.Yield(v.r.Context(), true) // anybody could have a form waited for
	}
	admitted, err := v.admit()
	if err != nil || !admitted {
		return err
	}
	if err := v.begin(); err != nil {
		return err
	}
	if v.page.files {
		end, err := v.uploads.begin(v.session.User.ID)
		if err != nil {
			return err
		}
		defer end()
	}
	if v.page.download {
		end, err := v.downloads.begin(v.session.User.ID)
		if err != nil {
			return err
		}
		defer end()
	}
	if err := v.readForm(); err != nil {
		return err
	}
	if ok, err := v.confirm(); err != nil || !ok {
		return err
	}
	if err := v.reserve(); err != nil {
		return err
	}
	return v.page.do(v)
}

// protect sets the headers that all answers have.
func protect(w http.ResponseWriter) {
	for name, value := range protection {
		w.Header().Set(name, value)
	}
}

// protection are the headers of all answers: nothing is loaded from elsewhere or
// inline, no other site frames or opens them, nothing is stored.
var protection = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
		"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Cache-Control":                "no-store",
}

// recognise finds the session of the request's cookie, if it has one.
func (v *visit) recognise() error {
	token := v.cookie(sessionCookie)
	if token == "" {
		return nil
	}
	session, err := v.Auth.Sessions.ByToken(v.r.Context(), token)
	if db.Is(err, db.Unauthenticated) {
		v.clearCookie(sessionCookie)
		return nil
	}
	if err != nil {
		return err
	}
	v.session = session.From(v.ClientAddress(v.r), v.requestID)
	v.caller = &api.Caller{
		Store: v.Store, Organisation: session.Organisation, Holder: session.Organisation.Org,
		Entitlements: session.Organisation.Plan.Entitlements(), ActorID: session.User.ID, Dashboard: true,
		RequestID: v.requestID, Address: v.ClientAddress(v.r), Receivers: v.Receivers, Document: v.Document,
	}
	return nil
}

// signedIn tells whether somebody has signed in.
func (v *visit) signedIn() bool { return v.session.User.ID != "" }

// may reports whether the user's role in the session's organisation has a
// permission.
func (v *visit) may(p auth.Permission) bool { return v.signedIn() && v.session.User.Role.May(p) }

// by is the user as the audit log knows it.
func (v *visit) by() db.Actor { return v.session.Actor() }

// admit is the one place where origin and role are checked. A request that is
// not admitted has been answered, or has an error that answers it.
func (v *visit) admit() (bool, error) {
	if v.guard.Check(v.r) != nil {
		return false, v.refused("another origin", &problem{
			http.StatusForbidden, "That came from another site",
			"A form of another site tried to act in your name, or this page's address has changed. Go back, reload the page and try again.",
		})
	}
	switch {
	case v.page.needs == nobody || v.signedIn() && (v.page.needs == signedIn || v.may(v.page.needs)):
		return true, nil
	case !v.signedIn():
		v.redirect(v.signInPath())
		return false, nil
	}
	return false, v.refusedRole(v.session.User.Role)
}

// refusedRole refuses a page that the role has no permission for, and every page
// to a user who is no longer a member of the session's organisation.
func (v *visit) refusedRole(role auth.Role) error {
	if role == "" {
		return v.refused("membership", &problem{
			http.StatusForbidden, "You are no longer a member of this organisation",
			"Choose another organisation above, if you belong to one. An admin of " + v.session.Organisation.Name + " can add you again.",
		})
	}
	return v.refused("role", &problem{
		http.StatusForbidden, "Your role does not include this",
		"Only " + rolesWith(v.page.needs) + " can do this. Your role is " + string(role) + ". An admin can change it under Users.",
	})
}

// rolesWith names the roles that have a permission, as "admins and editors".
func rolesWith(p auth.Permission) string {
	var names []string
	for _, role := range auth.Roles() {
		if role.May(p) {
			names = append(names, string(role)+"s")
		}
	}
	return strings.Join(names, " and ")
}

// refused tells the audit log of a refusal and returns it. What nobody knows
// the author of is not logged: anybody could fill the log with it. A refusal
// stands where the log can't be told, too.
func (v *visit) refused(why string, refusal error) error {
	if !v.signedIn() {
		return refusal
	}
	err := v.Store.Write(v.r.Context(), v.by(), func(tx *db.Tx) error {
		return tx.Audit(db.AuditEvent{
			Action: "page.refused", Category: db.Authorization, Severity: db.SeverityRefused,
			Metadata: db.Metadata{"page": v.page.pattern, "reason": why},
		})
	})
	if err != nil {
		v.Logger.Error("the audit log lacks a refusal", "request_id", v.requestID, "page", v.page.pattern, "reason", why, "error", err)
	}
	return refusal
}

// signInPath leads to the sign-in and from there back to the page, if it is one
// that can be come back to.
func (v *visit) signInPath() string {
	back := v.r.URL.RequestURI()
	if v.r.Method == http.MethodPost || back == "/" || localPath(back) == "/" {
		return "/signin"
	}
	return "/signin?next=" + url.QueryEscape(back)
}

// localPath returns a path of this site to be led to, or "/" for anything else:
// browsers take //host, /\host and control characters for other sites.
func localPath(path string) string {
	u, err := url.Parse(path)
	unsafe := func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }
	if err != nil || len(path) > 2000 || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsFunc(path, unsafe) ||
		!strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return "/"
	}
	return path
}

// redirect leads to another page of the site, with GET.
func (v *visit) redirect(path string) { http.Redirect(v.w, v.r, path, http.StatusSeeOther) }

// recover answers a request whose page panicked, and logs where.
func (v *visit) recover() {
	found := recover()
	if found == nil {
		return
	}
	if found == http.ErrAbortHandler { //nolint:errorlint // a sentinel of net/http, compared as it documents
		panic(found)
	}
	v.Logger.Error("panic", "panic", found, "request_id", v.requestID, "page", v.page.pattern, "stack", string(debug.Stack()))
	v.show(&somethingWrong)
}

// send writes a page. HEAD gets its headers alone, net/http sees to that.
func (v *visit) send(status int, body *bytes.Buffer) {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	v.memory.Settle(int64(body.Cap()))
	v.w.WriteHeader(status)
	_, _ = v.w.Write(body.Bytes()) // the client may be gone; nobody else is told
}

// nowhere answers where there is no page, or none for the method.
func (v *visit) nowhere() error {
	if allow := v.methods(v.r); len(allow) > 0 && !slices.Contains(allow, v.r.Method) {
		v.w.Header().Set("Allow", strings.Join(allow, ", "))
		return &problem{http.StatusMethodNotAllowed, "That can't be done here", "This address does not take such a request. Go back and use the page's own buttons."}
	}
	return &nothingHere
}
