package cmd_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

type minted struct {
	ID, Key, Prefix string
	ExpiresAt       *string `json:"expires_at"`
}

func TestKeysMint_PrintsKeyOnce(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	o := c.run("keys", "mint", "--name", "reports\x1b[31m", "--scope", "read:all,read:all", "--scope", "write:risks")
	if !regexp.MustCompile(`^gds_live_[0-9A-Za-z]{52}\n$`).MatchString(o.stdout) {
		t.Errorf("stdout %q, want the key alone", o.stdout)
	}
	if got, want := settled(o.stderr), "live key <id> (reports [31m), read:all,write:risks, never expires\n"+
		"The key is shown only once: only its hash is stored.\n"; got != want {
		t.Errorf("stderr %q, want %q", got, want)
	}
	if strings.Contains(c.must("keys", "list", "--json"), strings.TrimSpace(o.stdout)) {
		t.Error("the list shows the key")
	}
}

func TestKeys_PrintJSON(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	golden(t, "keys_list_empty.json", emptyKeysList(c))
	live := c.must("keys", "mint", "--name", "reports", "--scope", "read:all", "--scope", "write:risks", "--json")
	golden(t, "keys_mint.json", live)
	golden(t, "keys_mint_test.json", c.must("keys", "mint", "--name", "try", "--scope", "read:risks", "--test",
		"--expires", "2999-01-31", "--rpm", "5", "--rpd", "100", "--json"))
	golden(t, "keys_revoke.json", c.must("keys", "revoke", decode[minted](t, live).ID, "--json"))
	golden(t, "keys_list.json", c.must("keys", "list", "--json"))
	golden(t, "keys_list.txt", squeezed(c.must("keys", "list")))
}

// emptyKeysList lists the keys of an organisation without keys.
func emptyKeysList(c *cli) string {
	c.must("orgs", "create", "empty")
	return c.must("keys", "list", "--org", "empty", "--json")
}

func TestKeysMint_SetsExpiry(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2999-01-31":                "2999-01-31T00:00:00.000Z",
		"2999-01-31T10:00:00Z":      "2999-01-31T10:00:00.000Z",
		"2999-01-31T10:00:00+02:00": "2999-01-31T08:00:00.000Z",
	} {
		c := newCLI(t)
		got := decode[minted](t, c.must("keys", "mint", "--name", "n", "--scope", "read:all", "--expires", text, "--json")).ExpiresAt
		if got == nil || *got != want {
			t.Errorf("%s: expires %v, want %s", text, got, want)
		}
	}
}

func TestKeysRevoke_IsIdempotent(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	k := decode[minted](t, c.must("keys", "mint", "--name", "n", "--scope", "read:all", "--json"))
	if got := settled(c.must("keys", "revoke", k.Prefix)); got != "revoked <id> (<live prefix>, n)\n" {
		t.Errorf("stdout %q", got)
	}
	c.must("keys", "revoke", k.ID) // the second time changes nothing
	c.must("orgs", "create", "acme")
	for _, args := range [][]string{
		{"keys", "revoke", "nothing"},
		{"keys", "revoke", k.ID, "--org", "acme"},
		{"keys", "rotate", "nothing"},
	} {
		if got := c.refused(1, args...); !strings.Contains(got, "no such key in this organisation; `govsvc keys list` shows") {
			t.Errorf("%q: %s", args, got)
		}
	}
	if got := c.refused(1, "keys", "rotate", k.ID); !strings.Contains(got, "revoked or expired already") {
		t.Errorf("rotating a revoked key: %s", got)
	}
	if got := c.refused(1, "keys", "list", "--org", "zoe"); !strings.Contains(got, `no organisation is named "zoe"; `+"`govsvc orgs list`") {
		t.Errorf("another organisation: %s", got)
	}
}

func TestKeysRotate_EndsOldKeyAfterOverlap(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		flags []string
		hours float64
	}{{nil, 24}, {[]string{"--overlap", "90m"}, 1.5}, {[]string{"--overlap", "0s"}, 0}} {
		c := newCLI(t)
		plain := c.key("read:all")
		old := runJSON[[]minted](c, "keys", "list")[0]
		successor := decode[minted](t, c.must(append([]string{"keys", "rotate", old.Prefix, "--json"}, row.flags...)...))
		if successor.Key == plain || successor.Key == "" || successor.ID == old.ID || successor.ExpiresAt != nil {
			t.Errorf("%q: successor %+v of %+v", row.flags, successor, old)
		}
		for _, k := range decode[[]minted](t, c.must("keys", "list", "--json")) {
			if k.ID != old.ID {
				continue
			}
			ends, err := time.Parse(time.RFC3339, *k.ExpiresAt)
			if in := time.Until(ends).Hours(); err != nil || in > row.hours || in < row.hours-0.1 {
				t.Errorf("%q: the old key ends in %v hours, want %v", row.flags, in, row.hours)
			}
		}
	}
}

func TestKeysImport_ReadsOneLine(t *testing.T) {
	t.Parallel()
	const key = "gov_live_abcdefghijklmnopqrstuvwxyz"
	for _, row := range []struct{ name, stdin, want string }{
		{"alone", key, ""},
		{"with its line's end", key + "\n", ""},
		{"with DOS's", key + "\r\n", ""},
		{"the longest", "gov_test_" + strings.Repeat("x", 512-9) + "\n", ""},
		{"none", "", "no key on standard input"},
		{"an empty line", "\n", "no key on standard input"},
		{"two", key + "\n" + key + "\n", "more than one line"},
		{"an empty line after", key + "\n\n", "more than one line"},
		{"too long", "gov_test_" + strings.Repeat("x", 512-8), "more than 512 bytes"},
		{"endless", strings.Repeat("x", 1<<20), "more than 512 bytes"},
		{"too short", "gov_live_abc", "a key to import starts with gov_live_ or gov_test_"},
		{"forged", "gds_live_" + strings.Repeat("x", 52), "a key to import starts with"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			o := c.runOn(row.stdin, "keys", "import", "--name", "old", "--scope", "read:all")
			if row.want == "" {
				if o.status != 0 || !regexp.MustCompile(`^imported <id> \(gov_(live|test)_.{8}, old\)\n$`).MatchString(settled(o.stdout)) {
					t.Errorf("got %+v", o)
				}
				return
			}
			if o.status != 1 || o.stdout != "" || !strings.Contains(o.stderr, row.want) || strings.Contains(o.stderr, key[9:]) {
				t.Errorf("got %+v, want status 1 and %s", o, row.want)
			}
		})
	}
	c := newCLI(t)
	args := []string{"keys", "import", "--name", "old", "--scope", "read:all", "--json"}
	golden(t, "keys_import.json", c.runOn(key, args...).stdout)
	if o := c.runOn(key, args...); o.status != 1 || !strings.Contains(o.stderr, "stored already") {
		t.Errorf("the same again: %+v", o)
	}
}

func TestOrgs_CreateSetAndList(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	golden(t, "orgs_create.json", c.must("orgs", "create", "acme", "--plan", "business", "--json"))
	golden(t, "orgs_set.json", c.must("orgs", "set", "acme", "--subscription", "past_due", "--json"))
	c.must("orgs", "set", "acme", "--plan", "starter", "--subscription", "canceled")
	golden(t, "orgs_list.json", c.must("orgs", "list", "--json"))
	golden(t, "orgs_list.txt", squeezed(c.must("orgs", "list")))
	if got := c.refused(1, "orgs", "create", "acme"); !strings.Contains(got, `an organisation named "acme" already exists`) {
		t.Error(got)
	}
	if got := c.refused(1, "orgs", "set", "zoe", "--plan", "starter"); !strings.Contains(got, `no organisation is named "zoe"`) {
		t.Error(got)
	}
}

// TestKeysList_ShowsLastUse checks that the list has the time at which a key
// was used.
func TestKeysList_ShowsLastUse(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	key := c.key("read:all")
	s := c.serve()
	if status, body := c.get(s.url+"/api/v1/risks", key); status != 200 {
		t.Fatal(status, body)
	}
	s.end()
	list := runJSON[[]struct {
		LastUsedAt *string `json:"last_used_at"`
	}](c, "keys", "list")
	if len(list) != 1 || list[0].LastUsedAt == nil {
		t.Fatalf("%+v", list)
	}
	if text := c.must("keys", "list"); !strings.Contains(text, "  "+*list[0].LastUsedAt+"  active") {
		t.Errorf("no %s in\n%s", *list[0].LastUsedAt, text)
	}
}
