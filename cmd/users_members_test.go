package cmd_test

import (
	"fmt"
	"strings"
	"testing"
)

// shownMember is a user as the commands print it.
type shownMember struct {
	Name, Role    string
	Organisations []struct{ Organisation, Role string }
}

// String returns the name, the role and the memberships.
func (m shownMember) String() string { return fmt.Sprint(m.Name, " ", m.Role, " ", m.Organisations) }

// TestUsers_HaveRolesInOrganisations checks that a user has a role in each organisation,
// and that the command line can remove the last admin.
func TestUsers_HaveRolesInOrganisations(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("orgs", "create", "acme")
	c.addUser("ada", "admin")
	// No password is read for a user that exists.
	for _, row := range []struct {
		want string
		args string
	}{
		{"ada auditor [{acme auditor} {default admin}]", "users|add|ADA|--role|auditor|--org|acme"},
		{"ada viewer [{acme viewer} {default admin}]", "users|set|ada|--role|viewer|--org|acme"},
		{"ada editor [{acme viewer} {default editor}]", "users|set|ada|--role|editor"},
		{"ada editor [{acme viewer}]", "users|remove|ada"},
	} {
		got := runJSON[shownMember](c, strings.Split(row.args, "|")...)
		if got.String() != row.want {
			t.Errorf("%s: got %s, want %s", row.args, got, row.want)
		}
	}
	o := c.runOn("seven quiet harbours\n", "users", "passwd", "ada")
	if o.status != 0 {
		t.Error(o.stderr)
	}
	list := func(args ...string) string {
		return fmt.Sprint(runJSON[[]shownMember](c, append([]string{"users", "list"}, args...)...))
	}
	for want, args := range map[string][]string{
		"[]": {}, "[ada viewer [{acme viewer}]]": {"--org", "acme"}, "[ada  [{acme viewer}]]": {"--all-orgs"},
	} {
		if got := list(args...); got != want {
			t.Errorf("list %q: got %s, want %s", args, got, want)
		}
	}
	if got := c.refused(1, "orgs", "remove", "acme"); !strings.Contains(got, "1 users of no other organisation") {
		t.Error(got)
	}
	c.must("users", "add", "ada", "--role", "admin")
	if got := runJSON[shownMember](c, "users", "remove", "ada", "--all-orgs"); len(got.Organisations) > 0 {
		t.Errorf("memberships remain: %s", got)
	}
	for org, wants := range map[string][]string{
		"default": {`"action":"user.created"`, `"role":{"from":"admin","to":"editor"}`, `"role":{"from":"editor","to":null}`, `"action":"user.added"`},
		"acme":    {`"role":{"from":null,"to":"auditor"}`, `"role":{"from":"auditor","to":"viewer"}`, `"action":"user.password_changed"`},
	} {
		log := c.must("audit", "export", "--org", org)
		for _, want := range wants {
			if !strings.Contains(log, want) {
				t.Errorf("want %s in the log of %s:\n%s", want, org, log)
			}
		}
	}
}
