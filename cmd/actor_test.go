package cmd_test

import (
	"encoding/json"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAudit_NamesOperator checks that every event of the command line names the
// operating-system user, the user who called sudo, and the reason.
func TestAudit_NamesOperator(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	must(t, err)
	c := newCLI(t)
	c.env["SUDO_USER"] = "ada"
	c.env["GOVSVC_REASON"] = "of the environment"
	key := decode[minted](t, c.must("keys", "mint", "--name", "n", "--scope", "read:all", "--json"))
	const why = "asked for in ticket 12"
	for _, args := range [][]string{
		{"keys", "rotate", key.ID},
		{"keys", "revoke", key.ID},
		{"orgs", "set", "default", "--plan", "business"},
		{"users", "set", "bob", "--role", "viewer"},
		{"users", "passwd", "bob"},
		{"users", "remove", "bob"},
	} {
		if args[0] == "users" && args[1] == "set" {
			for _, name := range []string{"eve", "bob"} {
				if o := c.runOn("violet tractor spoons 71\n", "users", "add", name, "--role", "admin", "--reason", why); o.status != 0 {
					t.Fatal(o.stderr)
				}
			}
		}
		if o := c.runOn("amber kettle drums 38\n", append(args, "--reason", " "+why+" ")...); o.status != 0 {
			t.Fatalf("%q: %s", args, o.stderr)
		}
	}
	copied := filepath.Join(c.dir, "copy.db")
	c.must("backup", copied)
	c.must("restore", copied, "--force", "--reason", why)
	explained := []string{}
	for _, e := range auditEvents(c, "default") {
		if e.Metadata["os_user"] != me.Username || e.Metadata["os_login"] != "ada" {
			t.Errorf("%s: metadata %v", e.Action, e.Metadata)
		}
		switch e.Metadata["reason"] {
		case why:
			explained = append(explained, e.Action)
		case nil:
		default:
			t.Errorf("%s: reason %q", e.Action, e.Metadata["reason"])
		}
	}
	want := []string{
		"key.rotated", "key.revoked", "organisation.updated", "user.created", "user.created", "user.role_changed",
		"user.password_changed", "user.removed", "file.restored",
	}
	slices.Sort(want)
	slices.Sort(explained)
	if !slices.Equal(explained, want) {
		t.Errorf("with a reason: %v, want %v", explained, want)
	}
	c.env["SUDO_USER"] = me.Username
	c.must("orgs", "set", "default", "--plan", "enterprise")
	last := auditEvents(c, "default")
	if e := last[len(last)-2]; e.Action != "organisation.updated" || e.Metadata["os_login"] != nil || e.Metadata["reason"] != nil {
		t.Errorf("%+v", e)
	}
}

// TestReason_IsBounded checks that a reason that is empty or too long is refused.
func TestReason_IsBounded(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, reason := range []string{"", " ", strings.Repeat("x", 2001), "\xff"} {
		if got := c.refused(2, "keys", "revoke", "x", "--reason", reason); !strings.Contains(got, "--reason: a reason has 1 to 2000 characters") {
			t.Error(got)
		}
	}
	long, err := json.Marshal(strings.Repeat("é", 2000))
	must(t, err)
	c.must("orgs", "create", "acme")
	c.must("orgs", "set", "acme", "--plan", "starter", "--reason", strings.Repeat("é", 2000))
	if log := c.must("audit", "export", "--org", "acme"); !strings.Contains(log, `"reason":`+string(long)) {
		t.Error("the audit log does not have the complete reason")
	}
}
