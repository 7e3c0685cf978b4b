package cmd_test

import (
	"strings"
	"testing"
)

// shownOrg is an organisation as the commands print it.
type shownOrg struct {
	ID, Name string
	AuditLog string `json:"audit_log"`
}

// TestOrgsRename_KeepsData checks that everything that belongs to an organisation
// remains.
func TestOrgsRename_KeepsData(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	made := runJSON[shownOrg](c, "orgs", "create", "acme")
	c.must("keys", "mint", "--name", "n", "--scope", "read:all", "--org", "acme")
	renamed := runJSON[shownOrg](c, "orgs", "rename", "acme", " globex ", "--reason", "merged")
	if renamed.ID != made.ID || renamed.Name != "globex" {
		t.Errorf("%+v, want %+v", renamed, made)
	}
	if keys := c.must("keys", "list", "--org", "globex"); strings.Count(keys, "\n") != 2 {
		t.Error(keys)
	}
	log := c.must("audit", "export", "--org", "globex")
	if !strings.Contains(log, `"action":"organisation.updated"`) || !strings.Contains(log, `"name":{"from":"acme","to":"globex"}`) || !strings.Contains(log, `"reason":"merged"`) {
		t.Error(log)
	}
	for _, row := range []struct {
		status   int
		old, new string
		want     string
	}{
		{1, "acme", "other", `no organisation is named "acme"`},
		{1, "globex", "default", `an organisation named "default" already exists`},
		{2, "globex", strings.Repeat("x", 201), "an organisation's name has 1 to 200 characters"},
		{2, "globex", "a\nb", "an organisation's name has no line breaks"},
	} {
		if got := c.refused(row.status, "orgs", "rename", row.old, row.new); !strings.Contains(got, row.want) {
			t.Error(got)
		}
	}
	c.must("orgs", "rename", "default", "initech")
	if got := c.must("keys", "mint", "--name", "n", "--scope", "read:all", "--org", "initech"); !strings.HasPrefix(got, "gds_live_") {
		t.Error(got)
	}
	if got := c.refused(1, "keys", "list"); !strings.Contains(got, `no organisation is named "default"`) {
		t.Error(got)
	}
	s := c.serve("--demo")
	s.end()
	if !strings.Contains(s.stderr.String(), `has no organisation "default": the demonstration data is not loaded`) {
		t.Error(s.stderr)
	}
}

// TestOrgsRemove_KeepsAuditLog checks what prevents a removal. The audit log of a removed
// organisation remains intact, also in a backup and after a restore.
func TestOrgsRemove_KeepsAuditLog(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	made := runJSON[shownOrg](c, "orgs", "create", "acme")
	key := decode[minted](t, c.must("keys", "mint", "--name", "n", "--scope", "read:all", "--org", "acme", "--json"))
	if got := c.refused(1, "orgs", "remove", "acme"); !strings.Contains(got, `the organisation "acme" is not empty: it has 1 keys that are not revoked`) {
		t.Error(got)
	}
	c.must("keys", "revoke", key.ID, "--org", "acme")
	c.must("orgs", "create", "full")
	c.must("import", c.file("signals.ndjson", signals), "--org", "full")
	if got := c.refused(1, "orgs", "remove", "full"); !strings.Contains(got, "is not empty: it has ") || !strings.Contains(got, " signals") {
		t.Error(got)
	}
	removed := runJSON[shownOrg](c, "orgs", "remove", "acme", "--reason", "never used")
	if removed.ID != made.ID || removed.Name != "acme" || !strings.HasPrefix(removed.AuditLog, "acme (removed 2") {
		t.Errorf("%+v", removed)
	}
	if list := c.must("orgs", "list"); strings.Contains(list, "acme") {
		t.Error(list)
	}
	for _, args := range [][]string{
		{"keys", "list", "--org", "acme"},
		{"keys", "list", "--org", removed.AuditLog},
		{"orgs", "remove", removed.AuditLog},
		{"orgs", "rename", removed.AuditLog, "x"},
		{"orgs", "set", removed.AuditLog, "--plan", "starter"},
	} {
		if got := c.refused(1, args...); !strings.Contains(got, "no organisation is named ") {
			t.Error(got)
		}
	}
	if again := runJSON[shownOrg](c, "orgs", "create", "acme"); again.ID == made.ID {
		t.Error("the new organisation is the former one")
	}
	log := c.must("audit", "export", "--org", removed.AuditLog)
	if !strings.Contains(log, `"action":"organisation.removed"`) || !strings.Contains(log, `"reason":"never used"`) {
		t.Error(log)
	}
	copied := c.dir + "/copy.db"
	c.must("backup", copied)
	c.must("restore", copied, "--force")
	c.must("audit", "verify", "--org", removed.AuditLog)
	if health := c.must("check", "--full"); !strings.Contains(health, " of 4 organisations, all intact") {
		t.Error(health)
	}
	if got := c.refused(1, "orgs", "remove", "default"); !strings.Contains(got, `"default" can't be removed`) {
		t.Error(got)
	}
	c.must("orgs", "rename", "default", "first")
	alone := newCLI(t)
	alone.must("orgs", "create", "x")
	alone.must("orgs", "rename", "default", "y")
	alone.must("orgs", "remove", "y")
	if got := alone.refused(1, "orgs", "remove", "x"); !strings.Contains(got, `"x" is the last organisation of the file`) {
		t.Error(got)
	}
}
