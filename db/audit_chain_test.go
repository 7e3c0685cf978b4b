package db_test

import (
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestAuditChain recomputes the hashes of a log from its pages.
func TestAuditChain(t *testing.T) {
	t.Parallel()
	store := testdb.OpenWithEvents(t, 9)
	org := testdb.DefaultOrg(t, store)
	whole, err := store.Audit.Check(t.Context(), org.Org, "")
	if err != nil || whole.Events != 9 || whole.Broken != nil || whole.Known {
		t.Fatalf("got %+v, %v, want 9 valid events", whole, err)
	}
	var chain audit.Chain
	query := db.AuditQuery{Limit: 4}
	for more := true; more; {
		page, err := store.Audit.Events(t.Context(), org, query)
		if err != nil {
			t.Fatal(err)
		}
		if before, err := store.Audit.HashBefore(t.Context(), org.Org, page); err != nil || before != chain.Head() {
			t.Errorf("before event %d: got %s, %v, want %s", chain.Events()+1, before, err, chain.Head())
		}
		for _, event := range page.Events {
			check, err := store.Audit.Check(t.Context(), org.Org, chain.Head())
			if err != nil || !check.Known || check.After != 9-chain.Events() || check.Head != whole.Head {
				t.Errorf("the head of %d events: got %+v, %v", chain.Events(), check, err)
			}
			chain.Add(event)
		}
		query.Cursor, more = page.Next, page.HasMore
	}
	if chain.Head() != whole.Head || chain.Events() != 9 {
		t.Errorf("got %d events and head %s, want 9 and %s", chain.Events(), chain.Head(), whole.Head)
	}
	if check, err := store.Audit.Check(t.Context(), org.Org, strings.Repeat("0a", 32)); err != nil || check.Known || check.Broken != nil {
		t.Errorf("an unknown head: got %+v, %v", check, err)
	}
	next, err := audit.ChainFrom(whole.Head)
	if err != nil || next.Head() != whole.Head {
		t.Errorf("continued: got head %s, %v, want %s", next.Head(), err, whole.Head)
	}
	for _, hash := range []string{"", "0a", whole.Head + "00", "x" + whole.Head[1:]} {
		if _, err := audit.ChainFrom(hash); err == nil {
			t.Errorf("%q: got no error for a text that is not a hash", hash)
		}
	}
}

// TestAudit_CheckShowsTruncation checks that a log whose end was removed with all traces
// is valid in itself, but does not contain the head that was known before.
func TestAudit_CheckShowsTruncation(t *testing.T) {
	t.Parallel()
	store := testdb.OpenWithEvents(t, 9)
	org := testdb.DefaultOrg(t, store).Org
	noted, err := store.Audit.Check(t.Context(), org, "")
	if err != nil {
		t.Fatal(err)
	}
	testkit.ExecSQL(
		t, store.File.Path(),
		"DROP TRIGGER audit_events_never_go",
		"DELETE FROM audit_events WHERE seq > 6",
		"UPDATE sqlite_sequence SET seq = 6 WHERE name = 'audit_events'",
	)
	check, err := store.Audit.Check(t.Context(), org, noted.Head)
	if err != nil || check.Broken != nil || check.Known || check.Events >= 9 {
		t.Errorf("got %+v, %v, want a valid log without the known head", check, err)
	}
}
