package cmd_test

import (
	"strings"
	"testing"
)

func TestAuditVerify_FindsChangedEvents(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("keys", "mint", "--name", "a", "--scope", "read:all")
	c.must("keys", "mint", "--name", "b", "--scope", "read:all")
	if got, want := c.must("audit", "verify"), "default: the audit log is intact, 2 events\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	golden(t, "audit_verify.json", c.must("audit", "verify", "--json"))

	c.alter("DROP TRIGGER audit_events_never_change",
		"UPDATE audit_events SET event = replace(event, 'read:all', 'read:kpi') WHERE seq = 2")
	if got, want := settled(c.refused(1, "audit", "verify")), `the audit log of "default" is broken at event 2 (id <id>, time <time>)`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	o := c.run("audit", "verify", "--json")
	if o.status != 1 || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("status %d, stderr %q", o.status, o.stderr)
	}
	golden(t, "audit_broken.json", o.stdout)

	c.alter("UPDATE audit_events SET event = '{}' WHERE seq = 2")
	if got, want := c.refused(1, "audit", "verify"), "is broken at event 2 (id none, time none): it or its predecessor was altered"; !strings.Contains(got, want) {
		t.Errorf("an event without an id: got %s, want %s", got, want)
	}
	c.alter("DROP TRIGGER audit_events_never_go", "DELETE FROM audit_events WHERE seq = 2")
	if got, want := c.refused(1, "audit", "verify"), "its events from number 2 on are gone"; !strings.Contains(got, want) {
		t.Errorf("the last removed: got %s, want %s", got, want)
	}
}
