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

// TestSettings changes plan and subscription, like `govsvc orgs set`.
func TestSettings(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	c.expect(c.get("/settings"), 200, "Enterprise (yours)", "1,000,000", `href="/account"`, "subsidiary", "!is refused")
	change := func(plan, subscription string) response {
		return c.post("/settings", "plan", plan, "subscription", subscription)
	}
	c.expect(c.follow(change("enterprise", "active"), "/settings"), 200, "Nothing was changed")
	if h.hasAuditEvent("organisation.updated", auth.Admin) {
		t.Error("the audit log has an event although nothing changed")
	}
	c.expect(change("", "active"), 422, "f-plan-error")
	c.expect(change("business", ""), 422, "f-subscription-error", `<option value="business" selected>`)
	c.expect(change(hostile, "active"), 422, "f-plan-error", "must be one of the choices")
	c.expect(change("business", "never"), 422, "f-subscription-error")
	c.expect(c.follow(change("business", "past_due"), "/settings"), 200, "Plan and subscription have been changed.", "Business (yours)", "The subscription is not active. Every key of default is refused")
	c.expect(c.follow(change("starter", "active"), "/settings"), 200, "The plan starter does not include the API")
	c.expect(c.get("/audit"), 403)
	c.follow(change("enterprise", "active"), "/settings")
	c.expect(c.get("/audit?action=organisation.updated"), 200, "<del>starter</del> → <ins>enterprise</ins>")
}

// TestSettings_AddsOrganisation creates an organisation and works on it.
func TestSettings_AddsOrganisation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	add := func(name, plan string) response { return c.post("/settings/organisations", "name", name, "plan", plan) }
	const opened = `<details class="more" open><summary>Add an organisation`
	c.expect(add(" ", "business"), 422, "f-new-name-error", opened)
	c.expect(add("default", "business"), 422, "f-new-name-error", "already exists", `value="default"`)
	c.expect(add("Nordic", "gold"), 422, "f-new-plan-error")
	c.expect(add(strings.Repeat("x", 201), "business"), 422, "f-new-name-error")
	c.expect(c.follow(add("Nordic", "professional"), "/settings"), 200, "The organisation Nordic has been added, with you as its admin.", `name="name" value="Nordic"`)
	c.expect(c.follow(c.post("/organisation", "name", "Nordic", "next", "/settings"), "/settings"), 200, `<h2 id="organisation">Nordic</h2>`, "Professional (yours)")
	c.expect(c.get("/"), 200, "No records yet")
	r := c.follow(add(hostile, "enterprise"), "/settings")
	c.expect(r, 200, "&lt;script&gt;alert(1)")
	expectEscaped(t, "/settings", r)
}

// TestStatus checks that the page shows the state of the service. It discloses file
// names, but not the folders of the machine.
func TestStatus(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	c.expect(c.get("/status"), 200, "<code>govsvc.db</code>", "0123abc", db.SQLiteVersion, "go1.", "6,000 per minute and address", "16 MiB",
		"Queue empty", "No backup is recorded", `<a href="/risks">Risk</a>`, "2 hours", "!"+filepath.Dir(h.path), "!are late", "!ran out of attempts")

	path := filepath.Join(t.TempDir(), "copy.db")
	made, err := backup.New(h.store).Make(t.Context(), path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := backup.New(h.store).Record(t.Context(), db.Actor{ID: "system"}, made); err != nil {
		t.Fatal(err)
	}
	c.expect(c.get("/status"), 200, "<code>copy.db</code>", "!No backup is recorded", "!"+filepath.Dir(path))

	h.clock.Advance(time.Minute)
	folder := filepath.Join(t.TempDir(), "no such folder")
	if _, _, err := backup.New(h.store).MakeDue(t.Context(), backup.Schedule{Folder: folder, Every: time.Hour, Keep: 1}); err == nil {
		t.Fatal("got no error for a backup into a folder that does not exist")
	}
	c.expect(c.get("/status"), 200, "<code>copy.db</code>", "The last backup failed", "!"+filepath.Dir(folder), "!"+os.TempDir())
}

// TestStatus_Check runs the checks of the data file, as the command does. The page shows
// who ran them, names no folder, and refuses a second run at the same time.
func TestStatus_Check(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Auditor)
	c.expect(c.get("/status"), 200, "Check data file", "!No check failed")
	c.expect(c.post("/status/check", "full", "true"), 303)
	h.site.WaitForCheck()
	r := c.get("/status")
	c.expect(r, 200, "No check failed.", "The whole file is intact.", ">Audit log</th>", ">Schema</th>", "Full check started", "by auditor.", "Check data file", "!"+filepath.Dir(h.path))
	if r.header.Get("Refresh") != "" {
		t.Error("the page is reloaded after the check")
	}
	if !strings.Contains(h.auditLog(), `"action":"file.checked"`) {
		t.Error("the audit log has no event of the check")
	}
	h.execSQL("DROP TABLE backups")
	c.post("/status/check")
	h.site.WaitForCheck()
	h.execSQL("CREATE TABLE backups (outcome TEXT PRIMARY KEY, at TEXT, path TEXT, bytes INTEGER, error TEXT)")
	c.expect(c.get("/status"), 200, "1 check failed.", "a table, a view or a column is missing", "!>Schema</th>")

	release := h.site.HoldCheck()
	r = c.get("/status")
	c.expect(r, 200, "Check 1 of 7 is in progress.", "!Check data file</button>")
	if r.header.Get("Refresh") == "" {
		t.Error("the page does not show the progress")
	}
	c.expect(c.post("/status/check"), 409, "A check is in progress")
	release()
	h.as(auth.Viewer).expect(h.as(auth.Viewer).post("/status/check"), 403)
}

// TestStatus_ListsBackups checks that the page lists the last backup and the scheduled ones
// in its folder.
func TestStatus_ListsBackups(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	folder := t.TempDir()
	for range 2 {
		if _, _, err := backup.New(h.store).MakeDue(t.Context(), backup.Schedule{Folder: folder, Every: time.Minute, Keep: 5}); err != nil {
			t.Fatal(err)
		}
		h.clock.Advance(2 * time.Minute)
	}
	c.expect(c.get("/status"), 200, "2 known backups", "govsvc-20261001T120000Z.db", "govsvc-20261001T120200Z.db", "Verified when created", "!"+folder)
	if err := os.Remove(filepath.Join(folder, "govsvc-20261001T120200Z.db")); err != nil {
		t.Fatal(err)
	}
	c.expect(c.get("/status"), 200, "2 known backups", "File not found")
}

// TestStatus_ReportsDeliveries checks that the page reports late deliveries and dead
// letters.
func TestStatus_ReportsDeliveries(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	receiver := newReceiver(t, 500, "")
	c.subscribe(receiver.URL)
	h.emit("risk.created", 3)
	c.expect(c.get("/status"), 200, `<dd class="kind-number">3</dd>`, "!are late")
	h.clock.Advance(10 * time.Minute)
	c.expect(c.get("/status"), 200, "Webhook deliveries are late. The oldest has been due for 10 minutes.")
	if _, err := delivery.RunRound(t.Context(), h.store, delivery.Round{Expand: true}); err != nil {
		t.Fatal(err)
	}
	h.execSQL("UPDATE deliveries SET state = 'dead'")
	c.expect(c.get("/status"), 200, "Some deliveries ran out of attempts", fmt.Sprintf(`<p class="tile-value">%d</p>`, 3), "!are late")
}
