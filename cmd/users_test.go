package cmd_test

import (
	"strings"
	"testing"
)

func TestUsers_AddSetAndRemove(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	golden(t, "users_add.json", c.addUser("Ada Lovelace", "admin", "--json"))
	golden(t, "users_add.txt", squeezed(c.addUser("bob ross", "viewer")))
	golden(t, "users_set.json", c.must("users", "set", "ADA lovelace", "--role", "admin", "--json"))
	if got := c.must("users", "set", "bob ross", "--role", "editor"); !strings.Contains(got, "editor") {
		t.Error(got)
	}
	golden(t, "users_list.json", c.must("users", "list", "--json"))
	golden(t, "users_list.txt", squeezed(c.must("users", "list")))
	for _, row := range []struct{ args, want string }{
		{"users|reset-second-factor|bob ross", "bob ross has no second factor now; the user's sessions have ended\n"},
		{"users|remove|BOB ROSS", "removed bob ross (<id>)\n"},
	} {
		if got := settled(c.must(strings.Split(row.args, "|")...)); got != row.want {
			t.Errorf("%s: stdout %q, want %q", row.args, got, row.want)
		}
	}
	o := c.runOn("seven quiet harbours", "users", "passwd", "ada lovelace")
	if o.status != 0 || o.stdout != "changed the password of Ada Lovelace; the user's sessions have ended\n" || o.stderr != "" {
		t.Errorf("passwd: %+v", o)
	}
	log := c.must("audit", "export")
	for _, action := range []string{"user.created", "user.role_changed", "user.removed", "user.password_changed"} {
		if !strings.Contains(log, `"action":"`+action+`"`) {
			t.Errorf("the audit log has no %s", action)
		}
	}
	for _, secret := range []string{password, "seven quiet harbours"} {
		if strings.Contains(log, secret) {
			t.Error("the audit log holds a password")
		}
	}
}

func TestUsers_RefuseWrongUse(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.addUser("ada", "admin")
	c.must("orgs", "create", "acme")
	for _, row := range []struct {
		stdin  string
		args   string
		status int
		want   string
	}{
		{password, "users|add|ADA|--role|viewer", 1, `a user named "ada" already exists`},
		{password, "users|add| |--role|viewer", 2, "a user's name has 1 to 200 characters; see `govsvc users add --help`"},
		{password, "users|add|a\tb|--role|viewer", 2, "no control characters; see"},
		{"", "users|add|bob|--role|viewer", 1, "no password on standard input; pipe one line into the command, or run it at a terminal"},
		{"\n", "users|add|bob|--role|viewer", 1, "no password on standard input"},
		{password + "\n" + password + "\n", "users|add|bob|--role|viewer", 1, "more than one line"},
		{password + "\n\n", "users|passwd|ada", 1, "more than one line"},
		{strings.Repeat("x", 1<<20), "users|passwd|ada", 1, "more than 4096 bytes"},
		{"short\r\n", "users|passwd|ada", 1, "a password has at least 12 characters"},
		{"password1234", "users|add|bob|--role|viewer", 1, "this password is easy to guess"},
		{"ada ada ada ada", "users|passwd|ada", 1, "this password is easy to guess"},
		{password, "users|passwd|zoe", 1, `no user is named "zoe"; ` + "`govsvc users list` shows them"},
		{"", "users|set|zoe|--role|admin", 1, `no user is named "zoe"`},
		{"", "users|remove|zoe", 1, `no user is named "zoe"`},
		{"", "users|reset-second-factor|zoe", 1, `no user is named "zoe"`},
		{"", "users|set|ada|--role|viewer|--org|acme", 1, `"ada" is not a member of "acme"; ` + "`govsvc users list --all-orgs` shows"},
		{"", "users|remove|ada|--org|acme", 1, `"ada" is not a member of "acme"`},
		{"", "users|list|--org|nowhere", 1, `no organisation is named "nowhere"`},
		{"", "users|add|ada|--role|viewer|--org|nowhere", 1, `no organisation is named "nowhere"`},
	} {
		o := c.runOn(row.stdin, strings.Split(row.args, "|")...)
		if o.status != row.status || o.stdout != "" || !strings.HasPrefix(o.stderr, "govsvc: ") || strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stderr, row.want) {
			t.Errorf("%s: got %+v, want status %d and %s", row.args, o, row.status, row.want)
		}
		if strings.Contains(o.stderr, password) {
			t.Errorf("%s: the password is shown", row.args)
		}
	}
}
