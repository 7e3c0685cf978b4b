package web

import (
	"net/http"
	"slices"
	"strings"

	"govsvc/db"
)

// nobody is the least role of pages that are open to people who have not
// signed in.
const nobody db.Role = ""

// page is a page or an action of the dashboard.
type page struct {
	// pattern is method and path, as http.ServeMux has them.
	pattern string
	// least is the role that it takes at least. It is checked in one place,
	// visit.admit, for all of them.
	least db.Role
	do    func(*visit) error
	// body bounds the request's body in bytes; 0 is maxForm.
	body int64
	// files tells that the form has files. The page reads it itself, with upload.
	files bool
	// proof is the proof of identity that it takes beside the session. Pages that
	// change users, keys, roles, settings, a second factor or where webhooks lead
	// take one.
	proof proof
	// download says that the answer is a file to be saved, which may take long. A
	// user gets one at a time, and an address a limited number a minute.
	download bool
}

// pages is the one list of all pages and actions: a line each, in groups that
// keep it readable.
func pages() []page {
	return slices.Concat(overviewPages(), docsPages(), entrancePages(), accountPages(), keyPages(), webhookPages(), recordPages(), importPages(), evidencePages(),
		auditPages(), settingsPages(), userPages(), statusPages())
}

func overviewPages() []page {
	return []page{
		{pattern: "GET /{$}", least: db.Viewer, do: (*visit).overview},
		{pattern: "POST /organisation", least: db.Viewer, do: (*visit).switchOrganisation},
	}
}

// entrancePages lead in and out.
func entrancePages() []page {
	return []page{
		{pattern: "GET /setup", least: nobody, do: (*visit).setup},
		{pattern: "POST /setup", least: nobody, do: (*visit).createFirstUser},
		{pattern: "GET /signin", least: nobody, do: (*visit).signIn},
		{pattern: "POST /signin", least: nobody, do: (*visit).checkPassword},
		{pattern: "GET /signin/code", least: nobody, do: (*visit).askCode},
		{pattern: "POST /signin/code", least: nobody, do: (*visit).checkCode},
		{pattern: "POST /signout", least: db.Viewer, do: (*visit).signOut},
	}
}

// accountPages are about the user's own account.
func accountPages() []page {
	return []page{
		{pattern: "GET /account", least: db.Viewer, do: (*visit).account},
		{pattern: "POST /account/password", least: db.Viewer, proof: ownProof, do: (*visit).changePassword},
		{pattern: "GET /account/second-factor", least: db.Viewer, proof: freshProof, do: (*visit).secondFactor},
		{pattern: "POST /account/second-factor", least: db.Viewer, proof: freshProof, do: (*visit).confirmSecondFactor},
		{pattern: "POST /account/second-factor/remove", least: db.Viewer, proof: ownProof, do: (*visit).removeSecondFactor},
		{pattern: "POST /account/recovery-codes", least: db.Viewer, proof: ownProof, do: (*visit).newRecoveryCodes},
		{pattern: "GET /account/recovery-codes", least: db.Viewer, do: (*visit).recoveryCodes},
		{pattern: "GET /account/confirm", least: db.Viewer, do: (*visit).askProof},
		{pattern: "POST /account/confirm", least: db.Viewer, do: (*visit).takeProof},
		{pattern: "POST /account/sessions/{id}/end", least: db.Viewer, do: (*visit).endSession},
		{pattern: "POST /account/sessions/end-others", least: db.Viewer, do: (*visit).endOtherSessions},
		{pattern: "POST /account/signout-everywhere", least: db.Viewer, do: (*visit).signOutEverywhere},
	}
}

// keyPages are about the organisation's API keys.
func keyPages() []page {
	return []page{
		{pattern: "GET /keys", least: db.Admin, do: (*visit).keys},
		{pattern: "GET /keys/new", least: db.Admin, proof: freshProof, do: (*visit).newKey},
		{pattern: "POST /keys/new", least: db.Admin, proof: freshProof, do: (*visit).mintKey},
		{pattern: "GET /keys/made", least: db.Admin, do: (*visit).madeKey},
		{pattern: "GET /keys/{id}", least: db.Admin, do: (*visit).key},
		{pattern: "POST /keys/{id}/rotate", least: db.Admin, proof: freshProof, do: (*visit).rotateKey},
		{pattern: "POST /keys/{id}/revoke", least: db.Admin, proof: freshProof, do: (*visit).revokeKey},
	}
}

// webhookPages are about webhook subscriptions and what is sent to them.
func webhookPages() []page {
	return []page{
		{pattern: "GET /webhooks", least: db.Admin, do: (*visit).webhooks},
		{pattern: "GET /webhooks/new", least: db.Admin, proof: freshProof, do: (*visit).newWebhook},
		{pattern: "POST /webhooks/new", least: db.Admin, proof: freshProof, do: (*visit).createWebhook},
		{pattern: "GET /webhooks/secret", least: db.Admin, do: (*visit).webhookSecret},
		{pattern: "GET /webhooks/deadletters", least: db.Admin, do: (*visit).deadLetters},
		{pattern: "POST /webhooks/deadletters/replay", least: db.Admin, do: (*visit).replayLetters},
		{pattern: "POST /webhooks/deadletters/replay-all", least: db.Admin, do: (*visit).replayAllLetters},
		{pattern: "POST /webhooks/deadletters/discard", least: db.Admin, do: (*visit).discardLetters},
		{pattern: "GET /webhooks/{id}", least: db.Admin, do: (*visit).webhook},
		{pattern: "GET /webhooks/{id}/change", least: db.Admin, proof: freshProof, do: (*visit).editWebhook},
		{pattern: "POST /webhooks/{id}/change", least: db.Admin, proof: freshProof, do: (*visit).changeWebhook},
		{pattern: "POST /webhooks/{id}/pause", least: db.Admin, do: (*visit).pause},
		{pattern: "POST /webhooks/{id}/resume", least: db.Admin, do: (*visit).resume},
		{pattern: "POST /webhooks/{id}/test", least: db.Admin, do: (*visit).testWebhook},
		{pattern: "POST /webhooks/{id}/rotate-secret", least: db.Admin, proof: freshProof, do: (*visit).rotateSecret},
		{pattern: "POST /webhooks/{id}/delete", least: db.Admin, do: (*visit).deleteWebhook},
		{pattern: "GET /webhooks/{id}/deliveries/{number}", least: db.Admin, do: (*visit).delivery},
	}
}

// auditPages are about the audit log.
func auditPages() []page {
	return []page{
		{pattern: "GET /audit", least: db.Admin, do: (*visit).audit},
		{pattern: "GET /audit/verify", least: db.Admin, do: (*visit).auditCheck},
		{pattern: "POST /audit/verify", least: db.Admin, do: (*visit).verifyAudit},
	}
}

// settingsPages are about organisations.
func settingsPages() []page {
	return []page{
		{pattern: "GET /settings", least: db.Admin, do: (*visit).settings},
		{pattern: "POST /settings", least: db.Admin, proof: freshProof, do: (*visit).changeSettings},
		{pattern: "POST /settings/organisations", least: db.Admin, proof: freshProof, do: (*visit).createOrganisation},
	}
}

// userPages are about who may sign in.
func userPages() []page {
	return []page{
		{pattern: "GET /users", least: db.Admin, do: (*visit).users},
		{pattern: "GET /users/new", least: db.Admin, proof: freshProof, do: (*visit).newUser},
		{pattern: "POST /users/new", least: db.Admin, proof: freshProof, do: (*visit).createUser},
		{pattern: "GET /users/{id}", least: db.Admin, proof: freshProof, do: (*visit).user},
		{pattern: "POST /users/{id}/role", least: db.Admin, proof: freshProof, do: (*visit).changeRole},
		{pattern: "POST /users/{id}/password", least: db.Admin, proof: freshProof, do: (*visit).resetPassword},
		{pattern: "POST /users/{id}/second-factor/remove", least: db.Admin, proof: freshProof, do: (*visit).resetSecondFactor},
		{pattern: "POST /users/{id}/signout", least: db.Admin, proof: freshProof, do: (*visit).signOutUser},
		{pattern: "POST /users/{id}/remove", least: db.Admin, proof: freshProof, do: (*visit).removeUser},
	}
}

// statusPages are about the service itself.
func statusPages() []page {
	return []page{{pattern: "GET /status", least: db.Admin, do: (*visit).status}}
}

// staticPath is below what the files that pages need are.
const staticPath = "/static/"

// mount makes the table of routes.
func (s *Site) mount() {
	s.routes, s.reach = http.NewServeMux(), map[string]db.Role{}
	for _, p := range pages() {
		s.routes.Handle(p.pattern, s.answer(&p))
		if path, ok := strings.CutPrefix(p.pattern, "GET "); ok {
			s.reach[strings.TrimSuffix(path, "{$}")] = p.least
		}
	}
	s.routes.Handle("GET "+staticPath, http.HandlerFunc(s.serveStatic))
	s.routes.Handle("/", s.answer(&page{least: nobody, do: (*visit).nowhere}))
}

// ServeHTTP answers a request. The redirects of the routes themselves, as from
// //risks to /risks, are protected like pages.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w)
	s.routes.ServeHTTP(w, r)
}

// Knows tells whether there is a page at the request's path, for whatever
// method.
func (s *Site) Knows(r *http.Request) bool { return len(s.methods(r)) > 0 }

// methods lists those that the request's path takes.
func (s *Site) methods(r *http.Request) []string {
	var takes []string
	other := *r
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other.Method = method
		if _, pattern := s.routes.Handler(&other); strings.Contains(pattern, " ") {
			takes = append(takes, method)
		}
	}
	if slices.Contains(takes, http.MethodGet) {
		takes = append(takes, http.MethodHead)
	}
	return takes
}
