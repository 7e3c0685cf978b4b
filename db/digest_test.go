package db_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit/testdb"
)

// TestAuditChange_LongValues checks that the audit log has the length and the digest of a
// value of more than 2,048 bytes, and other values unchanged. The log can be verified.
func TestAuditChange_LongValues(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	by := testdb.Operator(t, store)
	digest := func(text string) any {
		sum := sha256.Sum256([]byte(text))
		return map[string]any{"length": float64(len(text)), "sha256": hex.EncodeToString(sum[:])}
	}
	short, long := strings.Repeat("€", 682)+"ab", strings.Repeat("€", 683) // 2,048 and 2,049 bytes
	list := []any{long, "b"}
	listText, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	err = store.Write(t.Context(), by, func(tx *db.Tx) error {
		return tx.AuditChange("risk", "updated", "id", audit.Changes{
			"short": {From: nil, To: short}, "long": {From: short, To: long}, "pointer": {From: &long, To: true},
			"list": {From: []any{"a"}, To: list}, "number": {From: 1, To: 2.5},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := store.Audit.Search(t.Context(), testdb.DefaultOrg(t, store), db.AuditSearch{ResourceID: "id", Limit: 1})
	if err != nil || len(found.Events) != 1 {
		t.Fatal(len(found.Events), err)
	}
	var event struct {
		Metadata struct{ Changes map[string]map[string]any }
	}
	if err := json.Unmarshal(found.Events[0], &event); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{
		"short": {"from": nil, "to": short}, "long": {"from": short, "to": digest(long)}, "pointer": {"from": digest(long), "to": true},
		"list": {"from": []any{"a"}, "to": digest(string(listText))}, "number": {"from": 1.0, "to": 2.5},
	}
	if diff := cmp.Diff(want, event.Metadata.Changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	verifyAudit(t, store, by.Org, 1)
}
