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

// chooser is a dead letter's check box.
var chooser = regexp.MustCompile(`name="id" value="([^"]+)"`)

// letters are the ids of the dead letters on a page.
func letters(r reply) (ids []string) {
	for _, found := range chooser.FindAllStringSubmatch(r.body, -1) {
		ids = append(ids, found[1])
	}
	return ids
}

// TestDeadLetters: replayed are the one, the chosen, or all; discarded the
// chosen alone; and nothing where none was chosen.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	receiver := newReceiver(t, http.StatusBadGateway, hostile)
	path, _ := g.subscribe(receiver.URL, "description", hostile)
	const page = "/webhooks/deadletters"
	g.wants(g.get(page), 200, "No dead letters")
	s.raise("risk.created", 9)
	if got := s.deliver(); got.Dead != 9 {
		t.Fatalf("%+v", got)
	}
	r := g.get(page)
	ids := letters(r)
	g.wants(r, 200, "9 dead letters", "Answered 502", "Sends 9 events to 1 receiver again")
	wantHarmless(t, "dead letters", r)
	g.wants(g.get("/webhooks"), 200, "Dead letters (9)", "Failing")

	for _, none := range [][]string{nil, {"id", ""}, {"only", ""}} {
		for _, action := range []string{"/replay", "/discard"} {
			if r := g.post(page+action, none...); r.status != 422 && r.status != 409 {
				t.Errorf("%s of %q: %d", action, none, r.status)
			}
		}
	}
	g.wants(g.get(page), 200, "9 dead letters")

	receiver.say(http.StatusNoContent, "")
	s.wantReplay(g.leads(g.post(page+"/replay", "only", ids[0], "id", ids[1]), page), 1)
	s.wantReplay(g.leads(g.post(page+"/replay", "id", ids[1], "id", ids[2], "id", ids[2]), page), 2)
	r = g.post(page+"/replay", "id", ids[3], "id", ids[2])
	g.wants(r, 409, "Nothing was changed, because", `value="`+ids[3]+`"`, "6 dead letters", "checked")
	r = g.post(page+"/discard", "id", ids[3], "id", hostile)
	g.wants(r, 409, "Nothing was changed, because")
	wantHarmless(t, "refused", r)
	g.wants(g.leads(g.post(page+"/discard", "id", ids[3], "id", ids[4]), page), 200, "2 dead letters discarded.")

	dead := regexp.MustCompile(path + `/deliveries/\d+`).FindString(g.get(page).body)
	g.wants(g.get(dead), 200, "Replay", "Discard")
	g.wants(g.leads(g.post(page+"/replay", "only", ids[5], "next", "https://evil.example/"), page), 200, "1 dead letter will be sent again.")
	if got := s.deliver(); got.Delivered != 1 {
		t.Errorf("%+v", got)
	}
	g.leads(g.post("/organisation", "name", "subsidiary"), "/")
	g.wants(g.get(page), 200, "No dead letters")
	g.wants(g.post(page+"/replay", "id", ids[6]), 409)
	g.wants(g.leads(g.post(page+"/replay-all"), page), 200, "0 dead letters will be sent again.")
	g.leads(g.post("/organisation", "name", db.DefaultOrganisation), "/")
	s.wantReplay(g.leads(g.post(page+"/replay-all"), page), 3)
	g.wants(g.get(page), 200, "No dead letters")
	g.wants(g.get(dead), 200, "Delivered", "!Discard")
	for _, action := range []string{"webhook_delivery.replayed", "webhook_delivery.discarded"} {
		if !s.audited(action, auth.Admin) {
			t.Errorf("no %s of the user in the audit log", action)
		}
	}
}

// wantReplay delivers what a replay put back.
func (s *scene) wantReplay(r reply, n int) {
	s.t.Helper()
	if !strings.Contains(r.body, "will be sent again.") {
		s.t.Errorf("no word of the replay:\n%.2000s", r.body)
	}
	if got := s.deliver(); got != (webhook.Totals{Delivered: n}) {
		s.t.Errorf("%+v, want %d delivered", got, n)
	}
}

// TestDeadLetterPages: many come in pages.
func TestDeadLetterPages(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	receiver := newReceiver(t, http.StatusBadGateway, "")
	g.subscribe(receiver.URL)
	s.raise("risk.created", 60)
	s.deliver()
	r := g.get("/webhooks/deadletters")
	g.wants(r, 200, "60 dead letters")
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(r.body)
	if len(letters(r)) != 50 || next == nil {
		t.Fatalf("%d on the first page, next %q", len(letters(r)), next)
	}
	r = g.get(strings.ReplaceAll(next[1], "&amp;", "&"))
	g.wants(r, 200, "Back to the newest")
	if n := len(letters(r)); n != 10 {
		t.Errorf("%d on the second page", n)
	}
	g.wants(g.get("/webhooks/deadletters?cursor=guessed"), 400)
}
