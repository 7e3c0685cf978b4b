package webhook_test

import (
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/server/webhook"
)

// TestSecret_Rotation signs with both secrets until the overlap ends.
func TestSecret_Rotation(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock())
	r := testkit.NewReceiver(t, nil)
	id, old := s.subscribe(t, r.URL)
	rotate := func(overlap time.Duration) (secret string) {
		s.write(t, func(tx *db.Tx) error {
			var err error
			secret, _, err = tx.RotateSecret(id, overlap)
			return err
		})
		return secret
	}
	last := func(secrets map[string]bool) {
		t.Helper()
		s.enqueue(t, 1)
		s.deliver(t)
		a := r.Received()[len(r.Received())-1]
		for secret, want := range secrets {
			if err := verify(a, secret); (err == nil) != want {
				t.Errorf("verifies %v, want %v", err == nil, want)
			}
		}
	}
	last(map[string]bool{old: true})
	second := rotate(24 * time.Hour)
	last(map[string]bool{old: true, second: true})
	if first, _, _ := strings.Cut(r.Received()[1].Header.Get("X-Service-Signature"), ","); first != ours(second, r.Received()[1].Body) {
		t.Error("the new secret's signature is not the first")
	}
	s.clock.Advance(24 * time.Hour)
	last(map[string]bool{old: false, second: true})
	third := rotate(0)
	last(map[string]bool{old: false, second: false, third: true})
	fourth := rotate(time.Hour)
	fifth := rotate(time.Hour)
	last(map[string]bool{third: false, fourth: true, fifth: true})
}

// verify returns a receiver's check on one of the days of TestSecret_Rotation.
func verify(a testkit.Received, secret string) error {
	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	for _, now := range []time.Time{at, at.Add(24 * time.Hour)} {
		if err := webhook.Verify(secret, a.Header, a.Body, now); err == nil {
			return nil
		}
	}
	return webhook.Verify(secret, a.Header, a.Body, at)
}

// TestSecret_IsNotShown checks that a secret is only in the data file and in the one
// response that returns it.
func TestSecret_IsNotShown(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock())
	id, secret := s.subscribe(t, testkit.NewReceiver(t, testkit.Status(500)).URL)
	s.write(t, func(tx *db.Tx) error { _, _, err := tx.RotateSecret(id, time.Hour); return err })
	s.write(t, func(tx *db.Tx) error { _, err := tx.UpdateSubscription(id, db.Record{"description": "x"}); return err })
	s.enqueue(t, 1)
	s.deliver(t)
	org, err := s.store.Orgs.ByName(t.Context(), db.DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	seen := s.log.String()
	page, err := s.store.List(t.Context(), org, resource.WebhookSubscription, db.ListQuery{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.store.Audit.Events(t.Context(), org, db.AuditQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	seen += string(page.Rows)
	for _, e := range events.Events {
		seen += string(e)
	}
	for _, object := range resource.Types() {
		if err := s.store.Records(t.Context(), org.Org, object, func(record []byte) error { seen += string(record); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(seen, "secret_rotated") || !strings.Contains(seen, `"action":"webhook_subscription.updated","category":"webhook"`) {
		t.Errorf("not in the audit log: %s", seen)
	}
	if strings.Contains(seen, "whsec_") || strings.Contains(seen, strings.TrimPrefix(secret, "whsec_")) {
		t.Errorf("a secret is shown: %s", seen)
	}
	if err := s.store.Write(t.Context(), s.by(t), func(tx *db.Tx) error { return tx.DeleteSubscription("unknown") }); !db.Is(err, db.NotFound) {
		t.Error(err)
	}
}
