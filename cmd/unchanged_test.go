package cmd_test

import (
	"strings"
	"testing"
)

// TestCommands_ChangeNothingTwice runs each command that changes something twice. The
// second run changes nothing, and the audit log gets no event.
func TestCommands_ChangeNothingTwice(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("orgs", "create", "acme", "--plan", "business")
	key := c.key("read:all")
	prefix := key[:len("gds_live_")+12]
	log := func() (events string) {
		for line := range strings.Lines(c.must("audit", "export") + c.must("audit", "export", "--org", "acme")) {
			if !strings.Contains(line, "audit.exported") { // the export of this test
				events += line
			}
		}
		return events
	}
	for _, args := range [][]string{
		{"orgs", "set", "acme", "--plan", "business"},
		{"orgs", "set", "acme", "--subscription", "past_due"},
		{"orgs", "set", "acme", "--plan", "business", "--subscription", "past_due"},
		{"keys", "revoke", prefix},
		{"deadletters", "replay", "--all"},
	} {
		c.must(args...)
		before, listed := log(), c.must("orgs", "list", "--json")+c.must("keys", "list", "--json")
		c.must(args...)
		if after := log(); after != before || before == "" {
			t.Errorf("%v: the second time the log gained %s", args, strings.TrimPrefix(after, before))
		}
		if after := c.must("orgs", "list", "--json") + c.must("keys", "list", "--json"); after != listed {
			t.Errorf("%v: the second time the lists changed from %s to %s", args, listed, after)
		}
	}
}
