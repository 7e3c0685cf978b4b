package web_test

import (
	"html"
	"strings"
	"testing"

	"govsvc/db/auth"
)

// TestUsers adds a user, who signs in. It then changes and removes the user.
func TestUsers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	const first, second = "purple lamp seven rivers", "orange chair nine hills"
	c.expect(c.get("/users"), 200, "admin", "editor", "viewer", `href="/users/new"`)
	add := func(name, role, password, again string) response {
		return c.post("/users/new", "name", name, "role", role, "password", password, "password-again", again)
	}
	c.expect(add("", "viewer", first, first), 422, "f-name-error", "!"+first)
	c.expect(add("Grace", "", first, first), 422, "f-role-error", `value="Grace"`)
	c.expect(add("Grace", "owner", first, first), 422, "f-role-error")
	c.expect(add("Grace", "viewer", "short", "short"), 422, "f-password-error")
	c.expect(add("Grace", "viewer", first, second), 422, "f-password-again-error")
	c.expect(add("ADMIN", "viewer", first, first), 422, "f-name-error", "already exists")
	c.expect(c.follow(add("Grace", "viewer", first, first), "/users"), 200, "The user Grace has been added", ">Grace</a>")

	grace := h.anonymous()
	grace.follow(grace.post("/signin", "name", "grace", "password", first), "/")
	grace.expect(grace.get("/users"), 403)
	at := "/users/" + h.user("Grace").ID
	c.expect(c.get(at), 200, "Viewer", "Reset password", "signs in with a password only")
	c.expect(c.post(at+"/role", "role", "owner"), 422, "f-role-error")
	c.expect(c.follow(c.post(at+"/role", "role", "admin"), at), 200, "Grace is now an admin.")
	grace.expect(grace.get("/users"), 200)

	c.expect(c.post(at+"/password", "password", second, "password-again", first), 422, "f-password-again-error", "!"+second)
	c.expect(c.post(at+"/password", "password", "short", "password-again", "short"), 422, "f-password-error")
	c.expect(c.follow(c.post(at+"/password", "password", second, "password-again", second), at), 200, "all sessions have ended")
	grace.expect(grace.get("/"), 303)
	grace.expect(grace.post("/signin", "name", "grace", "password", first), 422)
	grace.follow(grace.post("/signin", "name", "grace", "password", second), "/")

	c.expect(c.follow(c.post(at+"/signout"), at), 200, "Grace has been signed out everywhere.")
	grace.expect(grace.get("/"), 303)
	grace.follow(grace.post("/signin", "name", "grace", "password", second), "/")
	c.expect(c.follow(c.post(at+"/remove"), "/users"), 200, "The user Grace has been removed.", "!>Grace</a>")
	grace.expect(grace.get("/"), 303)
	grace.expect(grace.post("/signin", "name", "grace", "password", second), 422)
	c.expect(c.get(at), 404)
	h.expectAuditEvents("user.created", "user.role_changed", "user.password_changed", "user.signed_out", "user.removed")
	if log := h.auditLog() + h.log.String(); strings.Contains(log, first) || strings.Contains(log, second) {
		t.Error("a log contains a password")
	}
}

// TestUsers_LastAdmin checks that the last admin can't be removed or get another role.
func TestUsers_LastAdmin(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	at := "/users/" + h.user("admin").ID
	c.expect(c.post(at+"/remove"), 409, "is the last admin; make another user an admin first")
	c.expect(c.post(at+"/role", "role", "editor"), 422, "f-role-error", "is the last admin", `<option value="editor" selected>`)
	c.expect(c.get(at), 200)
	c.follow(c.post("/users/"+h.user("editor").ID+"/role", "role", "admin"), "/users/"+h.user("editor").ID)
	c.expect(c.follow(c.post(at+"/role", "role", "viewer"), "/"), 200, "admin is now a viewer.")
	c.expect(c.get("/users"), 403)
}

// TestUsers_OwnUser checks an admin's page about their own user. Changes that need a
// further proof are only possible in the account. Removal and sign-out end the own
// session.
func TestUsers_OwnUser(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	at := "/users/" + h.user("admin").ID
	c.expect(c.get(at), 200, "This is you", "!Reset password")
	c.expect(c.post(at+"/password", "password", "a new password", "password-again", "a new password"), 409, "That is your own account")
	c.expect(c.post(at+"/second-factor/remove"), 409, "That is your own account")
	c.follow(c.post("/users/"+h.user("editor").ID+"/role", "role", "admin"), "/users/"+h.user("editor").ID)
	c.expect(c.follow(c.post(at+"/signout"), "/signin"), 200, "You have signed out everywhere.")
	c.follow(c.post("/signin", "name", "admin", "password", password), "/")
	r := c.post(at + "/remove") // the membership of the subsidiary remains
	c.expect(c.get("/"), 403, "You are no longer a member of this organisation", `value="subsidiary"`, "!/account")
	expectRedirect(t, "removing oneself", r, "/")
	c.follow(c.post("/organisation", "name", "subsidiary"), "/")
	c.follow(c.post("/users/"+h.user("editor").ID+"/role", "role", "admin"), "/users/"+h.user("editor").ID)
	c.expect(c.follow(c.post(at+"/remove"), "/signin"), 200, "Your account has been removed.")
	c.expect(c.get("/"), 303)
}

// TestUsers_LostSecondFactor checks that an admin can turn off a lost second factor.
func TestUsers_LostSecondFactor(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	viewer := h.as(auth.Viewer)
	_, r := viewer.secondFactor(t)
	viewer.follow(r, "/account/recovery-codes")
	c := h.as(auth.Admin)
	at := "/users/" + h.user("viewer").ID
	c.expect(c.get(at), 200, "if the user has lost the authenticator app")
	c.expect(c.follow(c.post(at+"/second-factor/remove"), at), 200, "The second factor of viewer is off", "signs in with a password only")
	back := h.anonymous()
	back.follow(back.post("/signin", "name", "viewer", "password", password), "/")
}

// TestUsers_EscapeNames checks that the name of a user is escaped, including within
// sentences.
func TestUsers_EscapeNames(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	r := c.follow(c.post("/users/new", "name", hostile, "role", "viewer", "password", password, "password-again", password), "/users")
	c.expect(r, 200, "&lt;script&gt;alert(1)")
	expectEscaped(t, "/users", r)
	user := h.user(hostile)
	at := "/users/" + user.ID
	for _, r := range []response{
		c.get(at), c.post(at+"/role", "role", hostile), c.post(at+"/password", "password", hostile), c.follow(c.post(at+"/role", "role", "editor"), at),
		c.follow(c.post(at+"/remove"), "/users"), c.post("/users/new", "name", hostile, "role", hostile), c.get("/audit"),
	} {
		expectEscaped(t, at, r)
		if strings.Contains(r.body, user.Name) {
			t.Errorf("the name is not escaped:\n%s", r.body)
		}
	}
	c.expect(c.get("/audit?action=user.removed"), 200, html.EscapeString(user.Name))
}
