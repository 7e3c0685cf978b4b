package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/server/webhook"
)

// deadLetterID matches the check box of a dead letter.
var deadLetterID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// deadLetterIDs returns the IDs of the dead letters on a page.
func deadLetterIDs(r response) (ids []string) {
	for _, found := range deadLetterID.FindAllStringSubmatch(r.body, -1) {
		ids = append(ids, found[1])
	}
	return ids
}

// TestDeadLetters checks that a replay sends one dead letter, the selected ones, or all
// of them again. A discard removes the selected ones. Without a selection nothing
// changes.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	receiver := newReceiver(t, http.StatusBadGateway, hostile)
	path, _ := c.subscribe(receiver.URL, "description", hostile)
	const page = "/webhooks/deadletters"
	c.expect(c.get(page), 200, "No dead letters")
	h.emit("risk.created", 9)
	if got := h.deliver(); got.Dead != 9 {
		t.Fatalf("got %+v, want 9 dead letters", got)
	}
	r := c.get(page)
	ids := deadLetterIDs(r)
	c.expect(r, 200, "9 dead letters", "Answered 502", "Sends 9 events to 1 receiver again")
	expectEscaped(t, "dead letters", r)
	c.expect(c.get("/webhooks"), 200, "Dead letters (9)", "Failing")

	for _, none := range [][]string{nil, {"id", ""}, {"only", ""}} {
		for _, action := range []string{"/replay", "/discard"} {
			if r := c.post(page+action, none...); r.status != 422 && r.status != 409 {
				t.Errorf("%s with %q: got status %d, want 422 or 409", action, none, r.status)
			}
		}
	}
	c.expect(c.get(page), 200, "9 dead letters")

	receiver.SetAnswer(answer(http.StatusNoContent, ""))
	h.expectReplay(c.follow(c.post(page+"/replay", "only", ids[0], "id", ids[1]), page), 1)
	h.expectReplay(c.follow(c.post(page+"/replay", "id", ids[1], "id", ids[2], "id", ids[2]), page), 2)
	r = c.post(page+"/replay", "id", ids[3], "id", ids[2])
	c.expect(r, 409, "Nothing was changed, because", `value="`+ids[3]+`"`, "6 dead letters", "checked")
	r = c.post(page+"/discard", "id", ids[3], "id", hostile)
	c.expect(r, 409, "Nothing was changed, because")
	expectEscaped(t, "refused", r)
	c.expect(c.follow(c.post(page+"/discard", "id", ids[3], "id", ids[4]), page), 200, "2 dead letters discarded.")

	dead := regexp.MustCompile(path + `/deliveries/\d+`).FindString(c.get(page).body)
	c.expect(c.get(dead), 200, "Replay", "Discard")
	c.expect(c.follow(c.post(page+"/replay", "only", ids[5], "next", "https://evil.example/"), page), 200, "1 dead letter will be sent again.")
	if got := h.deliver(); got.Delivered != 1 {
		t.Errorf("got %+v, want 1 delivered", got)
	}
	c.follow(c.post("/organisation", "name", "subsidiary"), "/")
	c.expect(c.get(page), 200, "No dead letters")
	c.expect(c.post(page+"/replay", "id", ids[6]), 409)
	c.expect(c.follow(c.post(page+"/replay-all"), page), 200, "0 dead letters will be sent again.")
	c.follow(c.post("/organisation", "name", db.DefaultOrganisation), "/")
	h.expectReplay(c.follow(c.post(page+"/replay-all"), page), 3)
	c.expect(c.get(page), 200, "No dead letters")
	c.expect(c.get(dead), 200, "Delivered", "!Discard")
	h.expectAuditEvents("webhook_delivery.replayed", "webhook_delivery.discarded")
}

// expectReplay delivers the waiting events after a replay, and checks that n are
// delivered.
func (h *harness) expectReplay(r response, n int) {
	h.t.Helper()
	if !strings.Contains(r.body, "will be sent again.") {
		h.t.Errorf("the page does not confirm the replay:\n%.2000s", r.body)
	}
	if got := h.deliver(); got != (webhook.Totals{Delivered: n}) {
		h.t.Errorf("got %+v, want %d delivered", got, n)
	}
}

// TestDeadLetters_Pages checks that a long list of dead letters is split into pages.
func TestDeadLetters_Pages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	receiver := newReceiver(t, http.StatusBadGateway, "")
	c.subscribe(receiver.URL)
	h.emit("risk.created", 60)
	h.deliver()
	r := c.get("/webhooks/deadletters")
	c.expect(r, 200, "60 dead letters")
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(r.body)
	if len(deadLetterIDs(r)) != 50 || next == nil {
		t.Fatalf("the first page has %d dead letters and the next link %q, want 50 and a link", len(deadLetterIDs(r)), next)
	}
	r = c.get(strings.ReplaceAll(next[1], "&amp;", "&"))
	c.expect(r, 200, "Back to the newest")
	if n := len(deadLetterIDs(r)); n != 10 {
		t.Errorf("the second page has %d dead letters, want 10", n)
	}
	c.expect(c.get("/webhooks/deadletters?cursor=guessed"), 400)
}
