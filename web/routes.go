package web

import (
	"net/http"
	"slices"
	"strings"

	"govsvc/db/auth"
)

// The pages that take no permission of a role.
const (
	// nobody is for pages that are open to people who have not signed in.
	nobody auth.Permission = ""
	// signedIn is for pages that are open to every user, also to one who is no
	// longer a member of the session's organisation.
	signedIn auth.Permission = "signed in"
)

// page is a page or an action of the dashboard.
type page struct {
	// pattern is method and path, as http.ServeMux has them.
	pattern string
	// needs is the permission that it takes. It is checked in one place,
	// visit.admit, for all of them.
	needs auth.Permission
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
		{pattern: "GET /{$}", needs: auth.ReadRecords, do: (*visit).overview},
		{pattern: "POST /organisation", needs: signedIn, do: (*visit).switchOrganisation},
	}
}

// entrancePages lead in and out.
func entrancePages() []page {
	return []page{
		{pattern: "GET /setup", needs: nobody, do: (*visit).setup},
		{pattern: "POST /setup", needs: nobody, do: (*visit).createFirstUser},
		{pattern: "GET /signin", needs: nobody, do: (*visit).signIn},
		{pattern: "POST /signin", needs: nobody, do: (*visit).checkPassword},
		{pattern: "GET /signin/code", needs: nobody, do: (*visit).askCode},
		{pattern: "POST /signin/code", needs: nobody, do: (*visit).checkCode},
		{pattern: "POST /signout", needs: signedIn, do: (*visit).signOut},
	}
}

// accountPages are about the user's own account.
func accountPages() []page {
	return []page{
		{pattern: "GET /account", needs: auth.OwnAccount, do: (*visit).account},
		{pattern: "POST /account/password", needs: auth.OwnAccount, proof: ownProof, do: (*visit).changePassword},
		{pattern: "GET /account/second-factor", needs: auth.OwnAccount, proof: freshProof, do: (*visit).secondFactor},
		{pattern: "POST /account/second-factor", needs: auth.OwnAccount, proof: freshProof, do: (*visit).confirmSecondFactor},
		{pattern: "POST /account/second-factor/remove", needs: auth.OwnAccount, proof: ownProof, do: (*visit).removeSecondFactor},
		{pattern: "POST /account/recovery-codes", needs: auth.OwnAccount, proof: ownProof, do: (*visit).newRecoveryCodes},
		{pattern: "GET /account/recovery-codes", needs: auth.OwnAccount, do: (*visit).recoveryCodes},
		{pattern: "GET /account/confirm", needs: auth.OwnAccount, do: (*visit).askProof},
		{pattern: "POST /account/confirm", needs: auth.OwnAccount, do: (*visit).takeProof},
		{pattern: "POST /account/sessions/{id}/end", needs: auth.OwnAccount, do: (*visit).endSession},
		{pattern: "POST /account/sessions/end-others", needs: auth.OwnAccount, do: (*visit).endOtherSessions},
		{pattern: "POST /account/signout-everywhere", needs: auth.OwnAccount, do: (*visit).signOutEverywhere},
	}
}

// keyPages are about the organisation's API keys.
func keyPages() []page {
	return []page{
		{pattern: "GET /keys", needs: auth.ReadOversight, do: (*visit).keys},
		{pattern: "GET /keys/new", needs: auth.Administer, proof: freshProof, do: (*visit).newKey},
		{pattern: "POST /keys/new", needs: auth.Administer, proof: freshProof, do: (*visit).mintKey},
		{pattern: "GET /keys/made", needs: auth.Administer, do: (*visit).madeKey},
		{pattern: "GET /keys/{id}", needs: auth.ReadOversight, do: (*visit).key},
		{pattern: "POST /keys/{id}/rotate", needs: auth.Administer, proof: freshProof, do: (*visit).rotateKey},
		{pattern: "POST /keys/{id}/revoke", needs: auth.Administer, proof: freshProof, do: (*visit).revokeKey},
	}
}

// webhookPages are about webhook subscriptions and what is sent to them.
func webhookPages() []page {
	return []page{
		{pattern: "GET /webhooks", needs: auth.ReadOversight, do: (*visit).webhooks},
		{pattern: "GET /webhooks/new", needs: auth.Administer, proof: freshProof, do: (*visit).newWebhook},
		{pattern: "POST /webhooks/new", needs: auth.Administer, proof: freshProof, do: (*visit).createWebhook},
		{pattern: "GET /webhooks/secret", needs: auth.Administer, do: (*visit).webhookSecret},
		{pattern: "GET /webhooks/deadletters", needs: auth.ReadOversight, do: (*visit).deadLetters},
		{pattern: "POST /webhooks/deadletters/replay", needs: auth.Administer, do: (*visit).replayLetters},
		{pattern: "POST /webhooks/deadletters/replay-all", needs: auth.Administer, do: (*visit).replayAllLetters},
		{pattern: "POST /webhooks/deadletters/discard", needs: auth.Administer, do: (*visit).discardLetters},
		{pattern: "GET /webhooks/{id}", needs: auth.ReadOversight, do: (*visit).webhook},
		{pattern: "GET /webhooks/{id}/change", needs: auth.Administer, proof: freshProof, do: (*visit).editWebhook},
		{pattern: "POST /webhooks/{id}/change", needs: auth.Administer, proof: freshProof, do: (*visit).changeWebhook},
		{pattern: "POST /webhooks/{id}/pause", needs: auth.Administer, do: (*visit).pause},
		{pattern: "POST /webhooks/{id}/resume", needs: auth.Administer, do: (*visit).resume},
		{pattern: "POST /webhooks/{id}/test", needs: auth.Administer, do: (*visit).testWebhook},
		{pattern: "POST /webhooks/{id}/rotate-secret", needs: auth.Administer, proof: freshProof, do: (*visit).rotateSecret},
		{pattern: "POST /webhooks/{id}/delete", needs: auth.Administer, do: (*visit).deleteWebhook},
		{pattern: "GET /webhooks/{id}/deliveries/{number}", needs: auth.ReadOversight, do: (*visit).delivery},
	}
}

// auditPages are about the audit log.
func auditPages() []page {
	return []page{
		{pattern: "GET /audit", needs: auth.ReadOversight, do: (*visit).audit},
		{pattern: "GET /audit/verify", needs: auth.ReadOversight, do: (*visit).auditCheck},
		{pattern: "POST /audit/verify", needs: auth.ReadOversight, do: (*visit).verifyAudit},
	}
}

// settingsPages are about organisations.
func settingsPages() []page {
	return []page{
		{pattern: "GET /settings", needs: auth.ReadOversight, do: (*visit).settings},
		{pattern: "POST /settings", needs: auth.Administer, proof: freshProof, do: (*visit).changeSettings},
		{pattern: "POST /settings/organisations", needs: auth.Administer, proof: freshProof, do: (*visit).createOrganisation},
	}
}

// userPages are about who may sign in.
func userPages() []page {
	return []page{
		{pattern: "GET /users", needs: auth.ReadOversight, do: (*visit).users},
		{pattern: "GET /users/new", needs: auth.Administer, proof: freshProof, do: (*visit).newUser},
		{pattern: "POST /users/new", needs: auth.Administer, proof: freshProof, do: (*visit).createUser},
		{pattern: "GET /users/{id}", needs: auth.ReadOversight, proof: freshProof, do: (*visit).user},
		{pattern: "POST /users/{id}/role", needs: auth.Administer, proof: freshProof, do: (*visit).changeRole},
		{pattern: "POST /users/{id}/password", needs: auth.Administer, proof: freshProof, do: (*visit).resetPassword},
		{pattern: "POST /users/{id}/second-factor/remove", needs: auth.Administer, proof: freshProof, do: (*visit).resetSecondFactor},
		{pattern: "POST /users/{id}/signout", needs: auth.Administer, proof: freshProof, do: (*visit).signOutUser},
		{pattern: "POST /users/{id}/remove", needs: auth.Administer, proof: freshProof, do: (*visit).removeUser},
	}
}

// statusPages are about the service itself.
func statusPages() []page {
	return []page{{pattern: "GET /status", needs: auth.ReadOversight, do: (*visit).status}}
}

// staticPath is below what the files that pages need are.
const staticPath = "/static/"

// mount makes the table of routes.
func (s *Site) mount() {
	s.routes, s.reach = http.NewServeMux(), map[string]auth.Permission{}
	for _, p := range pages() {
		s.routes.Handle(p.pattern, s.answer(&p))
		if path, ok := strings.CutPrefix(p.pattern, "GET "); ok {
			s.reach[strings.TrimSuffix(path, "{$}")] = p.needs
		}
	}
	s.routes.Handle("GET "+staticPath, http.HandlerFunc(s.serveStatic))
	s.routes.Handle("/", s.answer(&page{needs: nobody, do: (*visit).nowhere}))
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
