package web_test

import (
	"html"
	"strings"
	"testing"

	"govsvc/db/auth"
)

// TestUsers adds a user, who signs in and is then changed and removed.
func TestUsers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	const first, second = "purple lamp seven rivers", "orange chair nine hills"
	g.wants(g.get("/users"), 200, "admin", "editor", "viewer", `href="/users/new"`)
	add := func(name, role, password, again string) reply {
		return g.post("/users/new", "name", name, "role", role, "password", password, "password-again", again)
	}
	g.wants(add("", "viewer", first, first), 422, "f-name-error", "!"+first)
	g.wants(add("Grace", "", first, first), 422, "f-role-error", `value="Grace"`)
	g.wants(add("Grace", "owner", first, first), 422, "f-role-error")
	g.wants(add("Grace", "viewer", "short", "short"), 422, "f-password-error")
	g.wants(add("Grace", "viewer", first, second), 422, "f-password-again-error")
	g.wants(add("ADMIN", "viewer", first, first), 422, "f-name-error", "exists already")
	g.wants(g.leads(add("Grace", "viewer", first, first), "/users"), 200, "The user Grace has been added", ">Grace</a>")

	grace := s.guest()
	grace.leads(grace.post("/signin", "name", "grace", "password", first), "/")
	grace.wants(grace.get("/users"), 403)
	at := "/users/" + s.user("Grace").ID
	g.wants(g.get(at), 200, "Viewer", "Reset password", "signs in with a password only")
	g.wants(g.post(at+"/role", "role", "owner"), 422, "f-role-error")
	g.wants(g.leads(g.post(at+"/role", "role", "admin"), at), 200, "Grace is now an admin.")
	grace.wants(grace.get("/users"), 200)

	g.wants(g.post(at+"/password", "password", second, "password-again", first), 422, "f-password-again-error", "!"+second)
	g.wants(g.post(at+"/password", "password", "short", "password-again", "short"), 422, "f-password-error")
	g.wants(g.leads(g.post(at+"/password", "password", second, "password-again", second), at), 200, "all sessions have ended")
	grace.wants(grace.get("/"), 303)
	grace.wants(grace.post("/signin", "name", "grace", "password", first), 422)
	grace.leads(grace.post("/signin", "name", "grace", "password", second), "/")

	g.wants(g.leads(g.post(at+"/signout"), at), 200, "Grace has been signed out everywhere.")
	grace.wants(grace.get("/"), 303)
	grace.leads(grace.post("/signin", "name", "grace", "password", second), "/")
	g.wants(g.leads(g.post(at+"/remove"), "/users"), 200, "The user Grace has been removed.", "!>Grace</a>")
	grace.wants(grace.get("/"), 303)
	grace.wants(grace.post("/signin", "name", "grace", "password", second), 422)
	g.wants(g.get(at), 404)
	for _, action := range []string{"user.created", "user.role_changed", "user.password_changed", "user.signed_out", "user.removed"} {
		if !s.audited(action, auth.Admin) {
			t.Errorf("the audit log does not tell of %s", action)
		}
	}
	if log := s.auditLog() + s.log.String(); strings.Contains(log, first) || strings.Contains(log, second) {
		t.Error("a password is in a log")
	}
}

// TestLastAdmin can't be removed, nor be given another role.
func TestLastAdmin(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	at := "/users/" + s.user("admin").ID
	g.wants(g.post(at+"/remove"), 409, "is the last admin; make another user an admin first")
	g.wants(g.post(at+"/role", "role", "editor"), 422, "f-role-error", "is the last admin", `<option value="editor" selected>`)
	g.wants(g.get(at), 200)
	g.leads(g.post("/users/"+s.user("editor").ID+"/role", "role", "admin"), "/users/"+s.user("editor").ID)
	g.wants(g.leads(g.post(at+"/role", "role", "viewer"), "/"), 200, "admin is now a viewer.")
	g.wants(g.get("/users"), 403)
}

// TestOwnUser: the page of the user who looks leads to the account for what
// that asks more for, and ends the session that it removes.
func TestOwnUser(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	at := "/users/" + s.user("admin").ID
	g.wants(g.get(at), 200, "This is you", "!Reset password")
	g.wants(g.post(at+"/password", "password", "a new password", "password-again", "a new password"), 409, "That is your own account")
	g.wants(g.post(at+"/second-factor/remove"), 409, "That is your own account")
	g.leads(g.post("/users/"+s.user("editor").ID+"/role", "role", "admin"), "/users/"+s.user("editor").ID)
	g.wants(g.leads(g.post(at+"/signout"), "/signin"), 200, "You have signed out everywhere.")
	g.leads(g.post("/signin", "name", "admin", "password", password), "/")
	r := g.post(at + "/remove") // the membership of the subsidiary remains
	g.wants(g.get("/"), 403, "You are no longer a member of this organisation", `value="subsidiary"`, "!/account")
	wantRedirect(t, "removing oneself", r, "/")
	g.leads(g.post("/organisation", "name", "subsidiary"), "/")
	g.leads(g.post("/users/"+s.user("editor").ID+"/role", "role", "admin"), "/users/"+s.user("editor").ID)
	g.wants(g.leads(g.post(at+"/remove"), "/signin"), 200, "Your account has been removed.")
	g.wants(g.get("/"), 303)
}

// TestLostSecondFactor is turned off by an admin.
func TestLostSecondFactor(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	viewer := s.as(auth.Viewer)
	_, r := viewer.secondFactor(t)
	viewer.leads(r, "/account/recovery-codes")
	g := s.as(auth.Admin)
	at := "/users/" + s.user("viewer").ID
	g.wants(g.get(at), 200, "if the user has lost the authenticator app")
	g.wants(g.leads(g.post(at+"/second-factor/remove"), at), 200, "The second factor of viewer is off", "signs in with a password only")
	back := s.guest()
	back.leads(back.post("/signin", "name", "viewer", "password", password), "/")
}

// TestHostileUser: a user's name is text, where it stands in sentences, too.
func TestHostileUser(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	r := g.leads(g.post("/users/new", "name", hostile, "role", "viewer", "password", password, "password-again", password), "/users")
	g.wants(r, 200, "&lt;script&gt;alert(1)")
	wantHarmless(t, "/users", r)
	user := s.user(hostile)
	at := "/users/" + user.ID
	for _, r := range []reply{
		g.get(at), g.post(at+"/role", "role", hostile), g.post(at+"/password", "password", hostile), g.leads(g.post(at+"/role", "role", "editor"), at),
		g.leads(g.post(at+"/remove"), "/users"), g.post("/users/new", "name", hostile, "role", hostile), g.get("/audit"),
	} {
		wantHarmless(t, at, r)
		if strings.Contains(r.body, user.Name) {
			t.Errorf("the name is not escaped:\n%s", r.body)
		}
	}
	g.wants(g.get("/audit?action=user.removed"), 200, html.EscapeString(user.Name))
}
