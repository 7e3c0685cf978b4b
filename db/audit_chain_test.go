package db_test

import (
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// TestAuditChain recomputes a log from what its pages give.
func TestAuditChain(t *testing.T) {
	t.Parallel()
	_, store, _ := logged(t, 9)
	org := defaultOrg(t, store)
	whole, err := store.Audit.Check(t.Context(), org.Org, "")
	if err != nil || whole.Events != 9 || whole.Broken != nil || whole.Known {
		t.Fatalf("%+v, %v", whole, err)
	}
	var chain db.AuditChain
	query := db.AuditQuery{Limit: 4}
	for more := true; more; {
		page, err := store.Audit.Events(t.Context(), org, query)
		if err != nil {
			t.Fatal(err)
		}
		if before, err := store.Audit.HashBefore(t.Context(), org.Org, page); err != nil || before != chain.Head() {
			t.Errorf("before event %d: %s, %v, want %s", chain.Events()+1, before, err, chain.Head())
		}
		for _, event := range page.Events {
			check, err := store.Audit.Check(t.Context(), org.Org, chain.Head())
			if err != nil || !check.Known || check.After != 9-chain.Events() || check.Head != whole.Head {
				t.Errorf("the head of %d events: %+v, %v", chain.Events(), check, err)
			}
			chain.Add(event)
		}
		query.Cursor, more = page.Next, page.HasMore
	}
	if chain.Head() != whole.Head || chain.Events() != 9 {
		t.Errorf("%d events to %s, want 9 to %s", chain.Events(), chain.Head(), whole.Head)
	}
	if check, err := store.Audit.Check(t.Context(), org.Org, strings.Repeat("0a", 32)); err != nil || check.Known || check.Broken != nil {
		t.Errorf("a head that never was: %+v, %v", check, err)
	}
	on, err := db.AuditChainFrom(whole.Head)
	if err != nil || on.Head() != whole.Head {
		t.Errorf("going on: %s, %v", on.Head(), err)
	}
	for _, hash := range []string{"", "0a", whole.Head + "00", "x" + whole.Head[1:]} {
		if _, err := db.AuditChainFrom(hash); err == nil {
			t.Errorf("%q is taken for a hash", hash)
		}
	}
}

// TestCheckAuditShowsTruncation: a log that was cut off with all traces of it
// is sound in itself, but does not lead to the head noted before.
func TestCheckAuditShowsTruncation(t *testing.T) {
	t.Parallel()
	path, store, org := logged(t, 9)
	noted, err := store.Audit.Check(t.Context(), org, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"DROP TRIGGER audit_events_never_go",
		"DELETE FROM audit_events WHERE seq > 6",
		"UPDATE sqlite_sequence SET seq = 6 WHERE name = 'audit_events'",
	} {
		if _, err := testkit.OpenSQL(t, path).ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	check, err := store.Audit.Check(t.Context(), org, noted.Head)
	if err != nil || check.Broken != nil || check.Known || check.Events >= 9 {
		t.Errorf("got %+v, %v", check, err)
	}
}

// TestEvidenceNeverChanges: neither a pack nor its bytes.
func TestEvidenceNeverChanges(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	handle(t, path, 0)
	for _, statement := range []string{
		`INSERT INTO evidence_packs (org_id, id, title, item_count, manifest, manifest_sha256, filed_at, filed_by)
			VALUES (1, 'x', 't', 0, '{}', hex(zeroblob(32)), '2026', 'system')`,
		"INSERT INTO evidence_chunks (pack_seq, number, bytes) VALUES (1, 0, x'00')",
		"INSERT INTO evidence_uploads (written_at) VALUES ('2026')",
		"INSERT INTO evidence_pieces (upload_seq, number, bytes) VALUES (1, 0, x'00')",
		`INSERT INTO evidence_packs (org_id, id, title, item_count, manifest, manifest_sha256, filed_at, filed_by, upload_seq)
			VALUES (1, 'y', 't', 0, '{}', hex(zeroblob(32)), '2026', 'system', 1)`,
	} {
		if _, err := testkit.OpenSQL(t, path).ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range []string{
		"UPDATE evidence_packs SET title = 'u'", "UPDATE evidence_chunks SET bytes = x'01'",
		"DELETE FROM evidence_packs", "DELETE FROM evidence_chunks",
		"UPDATE evidence_pieces SET bytes = x'01'", "DELETE FROM evidence_pieces", "DELETE FROM evidence_uploads",
		"INSERT INTO evidence_pieces (upload_seq, number, bytes) VALUES (1, 1, x'00')",
	} {
		if _, err := testkit.OpenSQL(t, path).ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "a filed evidence pack is") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
