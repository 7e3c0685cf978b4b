package web_test

import (
	"time"

	"govsvc/db"
)

// manyKeys adds keys of every state: used, never used, soon to expire, expired
// and revoked.
func (s *scene) manyKeys() {
	s.t.Helper()
	soon, past := s.clock.Now().Add(4*24*time.Hour), s.clock.Now().Add(-time.Hour)
	for _, draft := range []db.KeyDraft{
		{Name: "Warehouse export", Kind: db.LiveKey, Scopes: []string{"read:all", "read:audit"}},
		{Name: "Check-ins of the data platform team", Kind: db.LiveKey, Scopes: []string{"read:kpis", "write:kpis", "read:risks"}, ExpiresAt: &soon},
		{Name: "Trying things out", Kind: db.TestKey, Scopes: []string{"read:all", "write:risks", "write:incidents", "write:kpis", "write:vendor", "manage:webhooks"}},
		{Name: "Old importer", Kind: db.LiveKey, Scopes: []string{"read:risks"}, ExpiresAt: &past},
		{Name: "Lost laptop", Kind: db.LiveKey, Scopes: []string{"read:all"}},
	} {
		s.mint(draft)
	}
}

// mint makes a key beside the dashboard. Those named after use have one.
func (s *scene) mint(draft db.KeyDraft) db.Key {
	s.t.Helper()
	made, _, err := s.store.Keys.Mint(s.t.Context(), s.by(), draft)
	if err != nil {
		s.t.Fatal(err)
	}
	switch draft.Name {
	case "Lost laptop":
		_, err = s.store.Keys.Revoke(s.t.Context(), s.by(), made.ID)
	case "Warehouse export", "Check-ins of the data platform team":
		err = s.store.Usage.RecordKeyUses(s.t.Context(), map[string]db.KeyUse{made.ID: {At: db.Timestamp(s.clock.Now()), Scopes: draft.Scopes[:2]}})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}
