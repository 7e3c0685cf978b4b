package page

import (
	"net/http"
	"net/url"
	"strings"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/auth"
	"govsvc/server/api"
	"govsvc/web/ui"
)

// authenticate reads the session of the request's cookie, if it has one.
func (s *Server) authenticate(r *Request) error {
	token := r.Cookie(sessionCookie)
	if token == "" {
		return nil
	}
	session, err := s.Auth.Sessions.ByToken(r.Context(), token)
	if db.Is(err, db.Unauthenticated) {
		r.ClearSession()
		return nil
	}
	if err != nil {
		return err
	}
	r.Session = session.From(r.ClientAddress(), r.ID)
	r.Caller = &api.Caller{
		Store: s.Store, Organisation: session.Organisation, Holder: session.Organisation.Org,
		Entitlements: session.Organisation.Plan.Entitlements(), ActorID: session.User.ID, Dashboard: true,
		RequestID: r.ID, Address: r.ClientAddress(), Receivers: s.Receivers, Document: s.Document,
	}
	return nil
}

// authorize checks origin and permission, for all pages. If it returns false, the
// request is answered.
func (s *Server) authorize(r *Request) (bool, error) {
	if s.origin.Check(r.HTTP) != nil {
		return false, s.logRefusal(r, "another origin", &Problem{
			http.StatusForbidden, "The request came from another site",
			"A form of another site tried to act in your name, or the address of this page has changed. Go back, reload the page and try again.",
		})
	}
	switch {
	case r.route.Needs == Public || r.SignedIn() && (r.route.Needs == SignedIn || r.May(r.route.Needs)):
		return true, nil
	case !r.SignedIn():
		return false, r.Redirect(signInPath(r))
	}
	return false, s.forbid(r, r.Session.User.Role)
}

// forbid refuses a page that the role has no permission for. Without a role the
// user is no longer a member of the organisation.
func (s *Server) forbid(r *Request, role auth.Role) error {
	if role == "" {
		return s.logRefusal(r, "membership", &Problem{
			http.StatusForbidden, "You are no longer a member of this organisation",
			"Choose another organisation above, if you belong to one. An admin of " + r.Session.Organisation.Name + " can add you again.",
		})
	}
	return s.logRefusal(r, "role", &Problem{
		http.StatusForbidden, "This page requires the " + rolesWith(r.route.Needs) + " role",
		ui.Capitalize(string(role)) + "s have " + access(role) + ". An admin can change your role under Users.",
	})
}

// access describes what a role allows.
func access(role auth.Role) string {
	switch {
	case role.May(auth.WriteRecords):
		return "access to records"
	case role.May(auth.ReadOversight):
		return "read-only access, also to the administration"
	}
	return "read-only access to records"
}

// rolesWith lists the roles with a permission: "admin or editor".
func rolesWith(p auth.Permission) string {
	var names []string
	for _, role := range auth.Roles() {
		if role.May(p) {
			names = append(names, string(role))
		}
	}
	return strings.Join(names, " or ")
}

// logRefusal records a refusal in the audit log and returns it. Refusals without
// a session are not recorded, so that strangers cannot fill the log. A failure to
// record does not lift the refusal.
func (s *Server) logRefusal(r *Request, reason string, refusal error) error {
	if !r.SignedIn() {
		return refusal
	}
	err := s.Store.Write(r.Context(), r.Actor(), func(tx *db.Tx) error {
		return tx.Audit(audit.Event{
			Action: "page.refused", Category: audit.Authorization, Severity: audit.SeverityRefused,
			Metadata: audit.Metadata{"page": r.route.Pattern, "reason": reason},
		})
	})
	if err != nil {
		s.Logger.Error("a refusal is missing in the audit log", "request_id", r.ID, "page", r.route.Pattern, "reason", reason, "error", err)
	}
	return refusal
}

// signInPath returns the sign-in, which leads back to the page if that can be
// requested with GET.
func signInPath(r *Request) string {
	back := r.HTTP.URL.RequestURI()
	if r.HTTP.Method == http.MethodPost || back == "/" || LocalPath(back) == "/" {
		return "/signin"
	}
	return "/signin?next=" + url.QueryEscape(back)
}

// LocalPath returns a path of the dashboard unchanged, and "/" for any other
// text. Browsers treat //host, /\host and control characters as other sites.
func LocalPath(path string) string {
	u, err := url.Parse(path)
	unsafe := func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }
	if err != nil || len(path) > 2000 || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsFunc(path, unsafe) ||
		!strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return "/"
	}
	return path
}
