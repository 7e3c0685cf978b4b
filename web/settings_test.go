package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/db/backup"
	"govsvc/db/delivery"
)

// TestSettings changes plan and subscription as `govsvc orgs set` does.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	g.wants(g.get("/settings"), 200, "Enterprise (yours)", "1,000,000", `href="/account"`, "subsidiary", "!is refused")
	change := func(plan, subscription string) reply {
		return g.post("/settings", "plan", plan, "subscription", subscription)
	}
	g.wants(g.leads(change("enterprise", "active"), "/settings"), 200, "Nothing was changed")
	if s.audited("organisation.updated", auth.Admin) {
		t.Error("the audit log tells of a change that was none")
	}
	g.wants(change("", "active"), 422, "f-plan-error")
	g.wants(change("business", ""), 422, "f-subscription-error", `<option value="business" selected>`)
	g.wants(change(hostile, "active"), 422, "f-plan-error", "must be one of starter, professional, business, enterprise")
	g.wants(change("business", "never"), 422, "f-subscription-error")
	g.wants(g.leads(change("business", "past_due"), "/settings"), 200, "Plan and subscription have been changed.", "Business (yours)", "The subscription is not active. Every key of default is refused")
	g.wants(g.leads(change("starter", "active"), "/settings"), 200, "The plan starter does not include the API")
	g.wants(g.get("/audit"), 403)
	g.leads(change("enterprise", "active"), "/settings")
	g.wants(g.get("/audit?action=organisation.updated"), 200, "<del>starter</del> → <ins>enterprise</ins>")
}

// TestNewOrganisation is made and worked on.
func TestNewOrganisation(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	add := func(name, plan string) reply { return g.post("/settings/organisations", "name", name, "plan", plan) }
	const opened = `<details class="more" open><summary>Add an organisation`
	g.wants(add(" ", "business"), 422, "f-new-name-error", opened)
	g.wants(add("default", "business"), 422, "f-new-name-error", "exists already", `value="default"`)
	g.wants(add("Nordic", "gold"), 422, "f-new-plan-error")
	g.wants(add(strings.Repeat("x", 201), "business"), 422, "f-new-name-error")
	g.wants(g.leads(add("Nordic", "professional"), "/settings"), 200, "The organisation Nordic has been added, with you as its admin.", `name="name" value="Nordic"`)
	g.wants(g.leads(g.post("/organisation", "name", "Nordic", "next", "/settings"), "/settings"), 200, `<h2 id="organisation">Nordic</h2>`, "Professional (yours)")
	g.wants(g.get("/"), 200, "No records yet")
	r := g.leads(add(hostile, "enterprise"), "/settings")
	g.wants(r, 200, "&lt;script&gt;alert(1)")
	wantHarmless(t, "/settings", r)
}

// TestStatus tells how the service is doing, and of the machine no more than
// the file's name.
func TestStatus(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	g.wants(g.get("/status"), 200, "<code>govsvc.db</code>", "0123abc", db.SQLiteVersion, "go1.", "6,000 per minute and address", "16 MiB",
		"Queue empty", "No backup is recorded", `<a href="/risks">Risk</a>`, "2 hours", "!"+filepath.Dir(s.path), "!are late", "!ran out of attempts")

	path := filepath.Join(t.TempDir(), "copy.db")
	made, err := backup.New(s.store).Make(t.Context(), path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := backup.New(s.store).Record(t.Context(), db.Actor{ID: "system"}, made); err != nil {
		t.Fatal(err)
	}
	g.wants(g.get("/status"), 200, "<code>copy.db</code>", "!No backup is recorded", "!"+filepath.Dir(path))

	s.clock.advance(time.Minute)
	folder := filepath.Join(t.TempDir(), "no such folder")
	if _, _, err := backup.New(s.store).MakeDue(t.Context(), backup.Schedule{Folder: folder, Every: time.Hour, Keep: 1}); err == nil {
		t.Fatal("a backup into a folder that is not there")
	}
	g.wants(g.get("/status"), 200, "<code>copy.db</code>", "The last backup failed", "!"+filepath.Dir(folder), "!"+os.TempDir())
}

// TestStatusOfDeliveries tells of those that are late, and of dead letters.
func TestStatusOfDeliveries(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	receiver := newReceiver(t, 500, "")
	g.subscribe(receiver.URL)
	s.raise("risk.created", 3)
	g.wants(g.get("/status"), 200, `<dd class="kind-number">3</dd>`, "!are late")
	s.clock.advance(10 * time.Minute)
	g.wants(g.get("/status"), 200, "Webhook deliveries are late. The oldest has been due for 10 minutes.")
	if _, err := delivery.RunRound(t.Context(), s.store, delivery.Round{Expand: true}); err != nil {
		t.Fatal(err)
	}
	s.fill("UPDATE deliveries SET state = 'dead'")
	g.wants(g.get("/status"), 200, "Some deliveries ran out of attempts", fmt.Sprintf(`<p class="tile-value">%d</p>`, 3), "!are late")
}
