package web_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/web"
)

// pagesOf lists the pages that only some roles may open, by path. "*" means
// both methods. All other pages of signed-in users are open to every role.
var pagesOf = map[auth.Permission][]string{
	auth.WriteRecords: {
		"POST /report", "/evidence/new", "POST /evidence", "/import", "POST /import", "/import/{ticket}", "POST /import/{ticket}", "/import/templates/{file}",
		"/incidents/{id}/notification", "POST /incidents/{id}/notification", "/incidents/{id}/note", "POST /incidents/{id}/note", "/kpis/{id}/checkins/new", "POST /kpis/{id}/checkins",
		"/assessments/new", "POST /assessments", "/assessments/{id}/edit", "POST /assessments/{id}", "/signals/new", "POST /signals", "/signals/{id}/edit", "POST /signals/{id}",
		"/roadmap/milestones/new", "POST /roadmap/milestones", "/roadmap/milestones/{id}/edit", "POST /roadmap/milestones/{id}",
		"/compliance/obligations/new", "POST /compliance/obligations", "/compliance/obligations/{id}/edit", "POST /compliance/obligations/{id}",
		"/risks/new", "POST /risks", "/risks/{id}/edit", "POST /risks/{id}", "/incidents/new", "POST /incidents", "/incidents/{id}/edit", "POST /incidents/{id}",
		"/roadmap/versions/new", "POST /roadmap/versions", "/roadmap/versions/{id}/edit", "POST /roadmap/versions/{id}",
		"/compliance/postures/new", "POST /compliance/postures", "/compliance/postures/{id}/edit", "POST /compliance/postures/{id}",
		"/vendors/portfolio/new", "POST /vendors/portfolio", "/vendors/portfolio/{id}/edit", "POST /vendors/portfolio/{id}",
		"/talent/gaps/new", "POST /talent/gaps", "/talent/gaps/{id}/edit", "POST /talent/gaps/{id}",
		"/talent/readiness/new", "POST /talent/readiness", "/talent/readiness/{id}/edit", "POST /talent/readiness/{id}",
		"/kpis/new", "POST /kpis", "/kpis/{id}/edit", "POST /kpis/{id}",
		"/vendors/inventory/new", "POST /vendors/inventory", "/vendors/inventory/{id}/edit", "POST /vendors/inventory/{id}",
		"POST /risks/bulk", "POST /risks/bulk/apply", "POST /roadmap/milestones/bulk", "POST /roadmap/milestones/bulk/apply", "POST /compliance/obligations/bulk", "POST /compliance/obligations/bulk/apply",
		"POST /vendors/inventory/bulk", "POST /vendors/inventory/bulk/apply", "POST /talent/gaps/bulk", "POST /talent/gaps/bulk/apply", "POST /incidents/bulk", "POST /incidents/bulk/apply", "POST /kpis/bulk", "POST /kpis/bulk/apply",
	},
	auth.ReadOversight: {
		"/keys", "/keys/{id}", "/webhooks", "/webhooks/deadletters", "/webhooks/{id}", "/webhooks/{id}/deliveries/{number}",
		"/audit", "/audit.csv", "/audit.ndjson", "/audit/verify", "POST /audit/verify", "POST /status/check", "/settings", "/users", "/users/{id}", "/status",
	},
	auth.Administer: {
		"/keys/new", "POST /keys/new", "/keys/made", "POST /keys/{id}/rotate", "POST /keys/{id}/revoke", "POST /docs/key",
		"/webhooks/new", "POST /webhooks/new", "/webhooks/secret", "POST /webhooks/deadletters/replay", "POST /webhooks/deadletters/replay-all",
		"POST /webhooks/deadletters/discard", "/webhooks/{id}/change", "POST /webhooks/{id}/change", "POST /webhooks/{id}/pause", "POST /webhooks/{id}/resume",
		"POST /webhooks/{id}/test", "POST /webhooks/{id}/rotate-secret", "POST /webhooks/{id}/delete", "POST /settings", "POST /settings/organisations",
		"/users/new", "POST /users/new", "POST /users/{id}/role", "POST /users/{id}/password", "POST /users/{id}/second-factor/remove",
		"POST /users/{id}/signout", "POST /users/{id}/remove",
	},
}

// init adds the pages with what people add to a record.
func init() {
	for _, res := range resource.Linked() {
		at := res.Page.Base + "/{id}"
		pagesOf[auth.WriteRecords] = append(pagesOf[auth.WriteRecords], at+"/links/new", "POST "+at+"/links", "POST "+at+"/links/{link}/remove",
			"POST "+at+"/comments", "POST "+at+"/comments/{comment}/remove", "POST "+at+"/attachments", "POST "+at+"/attachments/{file}/remove",
			"POST "+at+"/archive", "POST "+at+"/restore")
	}
}

// roleMayOpen reports whether a role may open a page, from pagesOf and the contract alone.
func roleMayOpen(role auth.Role, name string) bool {
	open := map[auth.Role][]auth.Permission{
		"admin": {auth.WriteRecords, auth.ReadOversight, auth.Administer}, "editor": {auth.WriteRecords}, "auditor": {auth.ReadOversight},
	}
	for need, names := range pagesOf {
		for _, one := range names {
			if one != name {
				continue
			}
			for _, may := range open[role] {
				if may == need {
					return true
				}
			}
			return false
		}
	}
	return role != ""
}

// pageName returns the path of a route, with its method unless that is GET.
func pageName(r web.PageRoute) string {
	if r.Method == "GET" {
		return r.Path
	}
	return r.Method + " " + r.Path
}

// TestRoles_EveryPage requests every page with each role and with no membership. One
// session works on an organisation in which the admin is a viewer.
func TestRoles_EveryPage(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, route := range routes() {
		known[pageName(route)] = true
	}
	for _, names := range pagesOf {
		for _, name := range names {
			if !known[name] {
				t.Errorf("the page %s does not exist", name)
			}
		}
	}
	h := newHarness(t)
	for _, route := range routes() {
		name := pageName(route)
		if route.Needs == "" || strings.HasPrefix(name, "POST /account/s") || name == "POST /signout" || name == "POST /users/{id}/signout" {
			continue // the page is public, or it ends the session
		}
		for _, role := range auth.Roles() {
			r := h.as(role).request(route)
			if got, want := r.status != 403, roleMayOpen(role, name); got != want {
				t.Errorf("%s, %s: status %d, want it open: %v", role, name, r.status, want)
			}
		}
	}

	// The admin becomes a viewer of the subsidiary and works on it.
	h = newHarness(t)
	org, err := h.store.Orgs.ByName(t.Context(), "subsidiary")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.auth.Memberships.SetRole(t.Context(), db.Actor{Org: org.Org, ID: "system"}, h.user("admin").ID, auth.Viewer); err != nil {
		t.Fatal(err)
	}
	c := h.as(auth.Admin)
	c.follow(c.post("/organisation", "name", "subsidiary"), "/")
	h.checkPages("a viewer here, an admin elsewhere", c, func(name string) bool { return roleMayOpen("viewer", name) })

	// The membership of the subsidiary ends first, then the other one.
	if err := h.auth.Memberships.Remove(t.Context(), db.Actor{Org: org.Org, ID: "system"}, h.user("admin").ID); err != nil {
		t.Fatal(err)
	}
	c.expect(c.get("/risks"), 403, "You are no longer a member of this organisation", `value="default"`)
	h.checkPages("no member here", c, func(name string) bool { return name == "POST /organisation" })
	h.endMemberships()
	c.expect(c.get("/risks"), 403, "You are no longer a member of this organisation", `!value="default"`)
	h.checkPages("no member at all", c, func(name string) bool { return name == "POST /organisation" })
	c.expect(c.post("/organisation", "name", "default"), 404)
	c.follow(c.post("/signout"), "/signin")
	c.expect(c.post("/signin", "name", "admin", "password", password), 422, "not a member of an organisation")
}

// checkPages requests every page with one session and checks which of them are open.
func (h *harness) checkPages(about string, c *client, open func(name string) bool) {
	h.t.Helper()
	for _, route := range routes() {
		name := pageName(route)
		if route.Needs == "" || strings.HasPrefix(name, "POST /account/s") || name == "POST /signout" {
			continue
		}
		r := c.request(route)
		if got, want := r.status != 403, open(name); got != want {
			h.t.Errorf("%s, %s: status %d, want it open: %v", about, name, r.status, want)
		}
	}
}

// endMemberships removes all memberships directly, without the checks of the store.
func (h *harness) endMemberships() {
	h.t.Helper()
	file, err := sql.Open("sqlite", "file:"+h.path+"?_pragma=busy_timeout(10000)")
	if err == nil {
		_, err = file.ExecContext(context.Background(), "DELETE FROM memberships")
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestRoles_Auditor checks that pages offer an auditor no action that changes data,
// and no link to a page that the role may not open.
func TestRoles_Auditor(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	admin, c := h.as(auth.Admin), h.as(auth.Auditor)
	at := admin.follow(admin.post("/keys/new", "name", "reporting", "scope", "read:all", "kind", "live"), "/keys/made")
	admin.expect(at, 200, "gds_live_")
	keys, err := h.store.Keys.List(t.Context(), h.org().Org)
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	for _, path := range []string{
		"/", "/audit", "/audit/verify", "/keys", "/keys/" + keys[0].ID, "/webhooks", "/webhooks/deadletters", "/settings",
		"/users", "/users/" + h.user("editor").ID, "/evidence", "/status", "/risks", "/account",
	} {
		r := c.get(path)
		c.expect(r, 200, "!/keys/new", "!/webhooks/new", "!/users/new", "!/import\"", "!/evidence/new", "!/rotate\"", "!/revoke\"",
			"!/remove\" method", "!action=\"/settings", "!action=\"/users", "!action=\"/keys", "!action=\"/webhooks/deadletters/")
	}
	c.expect(c.follow(c.post("/audit/verify"), "/audit/verify"), 200, "The audit log is intact")
}

// TestUsers_OtherOrganisation adds a user of another organisation. The user keeps the
// password. An admin of one organisation can't change the account.
func TestUsers_OtherOrganisation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	org, err := h.store.Orgs.ByName(t.Context(), "subsidiary")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.auth.Users.Create(t.Context(), db.Actor{Org: org.Org, ID: "system"}, "Grace", auth.Admin, password); err != nil {
		t.Fatal(err)
	}
	boss := h.anonymous() // an admin of only the default organisation
	if _, err := h.auth.Users.Create(t.Context(), h.by(), "boss", auth.Admin, password); err != nil {
		t.Fatal(err)
	}
	boss.follow(boss.post("/signin", "name", "boss", "password", password), "/")
	at := "/users/" + h.user("Grace").ID
	boss.expect(boss.get("/users"), 200, "!>Grace</a>")
	boss.expect(boss.get(at), 404)
	boss.expect(boss.get("/settings"), 200, "!subsidiary")
	for _, path := range []string{"/password", "/second-factor/remove", "/signout", "/role", "/remove"} {
		boss.expect(boss.post(at+path, "password", password, "password-again", password, "role", "viewer"), 404)
	}
	add := func(name, plain string) response {
		return boss.post("/users/new", "name", name, "role", "auditor", "password", plain, "password-again", plain)
	}
	boss.expect(add("grace", "purple lamp seven rivers"), 422, "f-name-error", "already exists in another organisation")
	boss.expect(add("nobody", ""), 422, "f-password-error")
	boss.expect(boss.follow(add("grace", ""), "/users"), 200, "The user Grace has been added and signs in with the present password.")
	boss.expect(boss.get(at), 200, "also belongs to another organisation", fmt.Sprintf(`action="%s/role"`, at), "!Reset password", "!"+at+"/signout")
	for _, path := range []string{"/password", "/second-factor/remove", "/signout"} {
		boss.expect(boss.post(at+path, "password", "purple lamp seven rivers", "password-again", "purple lamp seven rivers"), 409)
	}
	grace := h.anonymous()
	grace.follow(grace.post("/signin", "name", "grace", "password", password), "/")
	grace.expect(grace.get("/audit"), 200)
	grace.expect(grace.get("/risks/new"), 403, "This page requires the admin or editor role", "Auditors have read-only access, also to the administration.")
	boss.follow(boss.post(at+"/remove"), "/users")
	grace.expect(grace.get("/audit"), 403, "You are no longer a member of this organisation")
	grace.follow(grace.post("/organisation", "name", "subsidiary"), "/")
	grace.expect(grace.get("/users"), 200)
	if !strings.Contains(h.auditLog(), `"action":"user.added"`) {
		t.Error("the audit log has no event user.added")
	}
}
