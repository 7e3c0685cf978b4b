package web_test

import (
	"time"

	"govsvc/db"
)

// createManyKeys adds keys in each state: used, never used, soon to expire, expired and
// revoked.
func (h *harness) createManyKeys() {
	h.t.Helper()
	soon, past := h.clock.Now().Add(4*24*time.Hour), h.clock.Now().Add(-time.Hour)
	for _, draft := range []db.KeyDraft{
		{Name: "Warehouse export", Kind: db.LiveKey, Scopes: []string{"read:all", "read:audit"}},
		{Name: "Check-ins of the data platform team", Kind: db.LiveKey, Scopes: []string{"read:kpis", "write:kpis", "read:risks"}, ExpiresAt: &soon},
		{Name: "Trying things out", Kind: db.TestKey, Scopes: []string{"read:all", "write:risks", "write:incidents", "write:kpis", "write:vendor", "manage:webhooks"}},
		{Name: "Old importer", Kind: db.LiveKey, Scopes: []string{"read:risks"}, ExpiresAt: &past},
		{Name: "Lost laptop", Kind: db.LiveKey, Scopes: []string{"read:all"}},
	} {
		h.createKey(draft)
	}
}

// createKey creates a key directly in the store. For some names of createManyKeys it
// also revokes the key or records its use.
func (h *harness) createKey(draft db.KeyDraft) db.Key {
	h.t.Helper()
	made, _, err := h.store.Keys.Mint(h.t.Context(), h.by(), draft)
	if err != nil {
		h.t.Fatal(err)
	}
	switch draft.Name {
	case "Lost laptop":
		_, err = h.store.Keys.Revoke(h.t.Context(), h.by(), made.ID)
	case "Warehouse export", "Check-ins of the data platform team":
		err = h.store.Usage.RecordKeyUses(h.t.Context(), map[string]db.KeyUse{made.ID: {At: db.Timestamp(h.clock.Now()), Scopes: draft.Scopes[:2]}})
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return made
}
