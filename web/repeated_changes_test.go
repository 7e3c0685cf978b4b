package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
)

// TestRepeatedChange_ChangesNothing sends each form of a change twice. The second
// request changes nothing: the audit log, the records and their times stay the same.
func TestRepeatedChange_ChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	receiver := newReceiver(t, http.StatusOK, "thanks")
	hook, _ := c.subscribe(receiver.URL)
	incident, kpi, risk := h.pathOf("/incidents", "incident", "chatbot"), h.pathOf("/kpis", "kpi", "KR-INV-01"), h.pathOf("/risks", "risk", "RISK-0001")
	viewer := "/users/" + h.user("viewer").ID
	key := "/keys/" + h.createKey(db.KeyDraft{Name: "n", Kind: db.LiveKey, Scopes: []string{"read:all"}}).ID
	for _, test := range []struct {
		path  string
		pairs []string
	}{
		{"/settings", []string{"plan", "enterprise", "subscription", "past_due"}},
		{"/settings", []string{"plan", "enterprise", "subscription", "active"}},
		{viewer + "/role", []string{"role", "editor"}},
		{viewer + "/second-factor/remove", nil},
		{viewer + "/signout", nil},
		{key + "/revoke", nil},
		{hook + "/change", []string{"url", receiver.URL, "description", "Desk", "event_types", "risk.created"}},
		{hook + "/pause", nil},
		{hook + "/resume", nil},
		{"/webhooks/deadletters/replay-all", nil},
		{"/organisation", []string{"name", "subsidiary"}},
		{"/organisation", []string{"name", "default"}},
		{risk, []string{"owner_name", "Chief Risk Officer"}},
		{incident, []string{"status", "post_review"}},
		{incident + "/notification", []string{"at", "2026-10-01T11:00", "to", "Datatilsynet", "reference", "2026-42"}},
		{kpi + "/checkins", []string{"value", "99.25", "period_start", "2026-10-01", "source", "manual", "note", "Counted."}},
		{h.pathOf("/vendors/inventory", "vendor", "norrhav-cloud"), []string{"notes", "Under review."}},
		{h.pathOf("/compliance/obligations", "obligation", "EUAIA-ART-4"), []string{"status", "at_risk"}},
		{h.pathOf("/roadmap/milestones", "milestone", "incident-drill"), []string{"status", "blocked"}},
	} {
		send := func() response {
			return c.post(test.path, slices.Concat(test.pairs, hiddenFields(c.get(test.path+"/edit").body))...)
		}
		if r := send(); r.status >= 400 && r.status != 409 {
			t.Errorf("%s: %d %.300s", test.path, r.status, r.body)
		}
		records, log := string(h.export()), withoutExports(h.auditLog())
		h.clock.Advance(time.Minute)
		send()
		if after := withoutExports(h.auditLog()); after != log {
			t.Errorf("%s %v: the second request added to the log: %s", test.path, test.pairs, strings.TrimPrefix(after, log))
		}
		if after := string(h.export()); after != records {
			t.Errorf("%s %v: the second request changed the records", test.path, test.pairs)
		}
	}
}

// withoutExports returns a log without the export events of the test itself.
func withoutExports(log string) string {
	var left strings.Builder
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"action":"export.completed"`) {
			left.WriteString(line)
		}
	}
	return left.String()
}
