package web_test

import (
	"encoding/csv"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/auth"
)

var auditActions = regexp.MustCompile(`<dt>Action</dt><dd><code>([a-z_.]+)</code>`)

// harnessWithEvents returns a harness whose audit log has known events. The editor
// changes a risk five times, 10 minutes apart. Then follow one event by an API key
// and one without an actor.
func harnessWithEvents(t *testing.T) (h *harness, risk string, key db.Key) {
	t.Helper()
	h = newHarness(t)
	risk, key = h.find("risk", "claims")["id"].(string), h.createKey(db.KeyDraft{Name: "Reporting", Kind: db.LiveKey, Scopes: []string{"read:all"}})
	record := func(actor, action string, category audit.Category, object, id string, metadata audit.Metadata) {
		t.Helper()
		err := h.store.Write(t.Context(), db.Actor{Org: h.by().Org, ID: actor}, func(tx *db.Tx) error {
			return tx.Audit(audit.Event{Action: action, Category: category, Severity: audit.SeverityWrite, ResourceType: object, ResourceID: id, Metadata: metadata})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		h.clock.Advance(10 * time.Minute)
		record(h.user("editor").ID, "risk.updated", audit.DataChange, "risk", risk, audit.Metadata{
			"changes": audit.Changes{"severity": {From: fmt.Sprint("S", i), To: "CRITICAL"}, "owner_name": {From: "Ada", To: nil}},
		})
	}
	record("key:"+key.ID, "api.write.vendor", audit.DataChange, "vendor", "0190d6a1-0000-7000-8000-000000000000", nil)
	record("", "user.sign_in_refused", audit.Authentication, "", "", audit.Metadata{"address": hostile})
	return h, risk, key
}

// TestAudit searches the log by each of its filters.
func TestAudit(t *testing.T) {
	t.Parallel()
	h, risk, key := harnessWithEvents(t)
	c := h.as(auth.Admin)
	editor := h.user("editor").ID
	for _, test := range []struct {
		about, query string
		want         string // actions, newest first
	}{
		{"by actor", "actor=" + editor, strings.Repeat("risk.updated ", 5) + "user.signed_in"},
		{"by key", "actor=key:" + key.ID, "api.write.vendor"},
		{"by the command line and action", "actor=system&action=key.minted", "key.minted"},
		{"by action", "action=risk.updated", strings.TrimSpace(strings.Repeat("risk.updated ", 5))},
		{"by the start of the action", "action=api.write.*", "api.write.vendor"},
		{"by type", "resource_type=vendor&since=2026-10-01T12:00:01Z", "api.write.vendor"},
		{"by record", "resource_type=risk&resource_id=" + risk, strings.Repeat("risk.updated ", 5) + "risk.created"},
		{"by time", "action=risk.updated&since=2026-10-01T12:25:00Z&until=2026-10-01T12:50:00Z", "risk.updated risk.updated"},
		{"by days", "action=risk.updated&since=2026-10-01&until=2026-10-01", strings.TrimSpace(strings.Repeat("risk.updated ", 5))},
		{"by days without an end", "action=risk.updated&until=9999-12-31", strings.TrimSpace(strings.Repeat("risk.updated ", 5))},
		{"by a day before", "until=2026-09-30", ""},
		{"by a day after", "since=2026-10-02", ""},
		{"by all", "actor=" + editor + "&action=risk.*&resource_type=risk&resource_id=" + risk + "&since=2026-10-01T12:45:00Z", "risk.updated"},
		{"by an unknown actor", "actor=nobody", ""},
	} {
		r := c.get("/audit?" + test.query)
		var got []string
		for _, action := range auditActions.FindAllStringSubmatch(r.body, -1) {
			got = append(got, action[1])
		}
		if r.status != 200 || strings.Join(got, " ") != test.want {
			t.Errorf("%s: %d %v, want %s", test.about, r.status, got, test.want)
		}
		if test.want == "" {
			c.expect(r, 200, "No matching events", "Clear filters")
		}
	}
	if h.hasAuditEvent("audit.searched", auth.Admin) {
		t.Error("the audit log has an event for a view of its page")
	}
	c.expect(c.get("/audit?since=yesterday"), 400, "must be a date such as")
	c.expect(c.get("/audit?since=9999-12-31T23:00:00-02:00"), 400, "must be a date such as")
	c.expect(c.get("/audit?cursor=x"), 400)
	c.expect(c.get("/audit?actor="+strings.Repeat("x", 201)), 400, "at most 200 characters")
}

// TestAudit_ExplainsEvents checks that each event shows the actor, the action, the
// record, and the old and new values.
func TestAudit_ExplainsEvents(t *testing.T) {
	t.Parallel()
	h, risk, key := harnessWithEvents(t)
	c := h.as(auth.Admin)
	r := c.get("/audit?action=risk.updated&since=2026-10-01T12:45:00Z")
	c.expect(r, 200, "2 changes", "<del>S4</del> → <ins>Critical</ins>", `<del>Ada</del> → <span class="muted">cleared</span>`, `<a href="/risks/`+risk+`">`+html.EscapeString(h.find("risk", "claims")["title"].(string))+`</a><p class="small muted">Risk</p>`, ">Risk updated</a>",
		`>editor</a>`, `resource_id=`+risk, "Data change, severity 3 of 10")
	c.expect(c.get("/audit?actor=key:"+key.ID), 200, "Key Reporting</a>", `<option value="key:`+key.ID+`" selected>Key Reporting (`+key.Prefix+"…)</option>",
		`<a href="/vendors/inventory/0190d6a1-0000-7000-8000-000000000000">Vendor</a>`)
	r = c.get("/audit")
	c.expect(r, 200, "unknown</span>", "Refused", `value="system">Command line</option>`, "!No event")
	expectEscaped(t, "/audit", r)
	expectEscaped(t, "/audit", c.get("/audit?"+strings.NewReplacer("{", "%7B", "}", "%7D", "<", "%3C", ">", "%3E", `"`, "%22", " ", "+").Replace("actor="+hostile+"&action="+hostile+"&resource_type="+hostile+"&resource_id="+hostile)))
	c.expect(c.get("/audit?resource_type=link"), 200, ">Link created</a>", "RISK-0040 – INC-2026-008")
	c.expect(c.get("/audit?actor=gone"), 200, `<option value="gone" selected>gone</option>`)
}

// TestAudit_Search finds events by a part of the action, of the name of the actor, and of
// the name or id of the record.
func TestAudit_Search(t *testing.T) {
	t.Parallel()
	h, risk, key := harnessWithEvents(t)
	c := h.as(auth.Admin)
	title := h.find("risk", "claims")["title"].(string)
	for query, want := range map[string]string{
		"q=pdated&resource_id=" + risk:                                strings.Repeat("risk.updated ", 5),
		"q=Risk+updated&resource_id=" + risk:                          strings.Repeat("risk.updated ", 5),
		"q=EDITO&action=updat":                                        strings.Repeat("risk.updated ", 5),
		"q=" + url.QueryEscape(title) + "&since=2026-10-01T12:00:01Z": strings.Repeat("risk.updated ", 5),
		"q=" + risk[10:] + "&since=2026-10-01T12:00:01Z":              strings.Repeat("risk.updated ", 5),
		"q=reporting&since=2026-10-01T12:00:00Z":                      "api.write.vendor key.minted ",
		"q=" + key.ID[3:]:                                             "key.minted ",
		"q=0190d6a1-0000":                                             "api.write.vendor ",
		"q=nothing+like+it":                                           "",
		"action=sign_in_ref":                                          "user.sign_in_refused ",
	} {
		r := c.get("/audit?" + query)
		got := ""
		for _, action := range auditActions.FindAllStringSubmatch(r.body, -1) {
			got += action[1] + " "
		}
		if r.status != 200 || got != want {
			t.Errorf("%s: %d %v, want %s", query, r.status, got, want)
		}
	}
	c.expect(c.get("/audit?q="+strings.Repeat("x", 201)), 400, "at most 200 characters")
	expectEscaped(t, "/audit", c.get("/audit?q="+url.QueryEscape(hostile)))
}

// TestAudit_NamesRemoved checks that users and records that no longer exist are shown by
// name.
func TestAudit_NamesRemoved(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	receiver := newReceiver(t, 200, "")
	path, _ := c.subscribe(receiver.URL)
	webhook := strings.TrimPrefix(path, "/webhooks/")
	c.post(path + "/delete")
	gone := h.user("editor").ID
	if err := h.auth.Memberships.Remove(t.Context(), h.by(), gone); err != nil {
		t.Fatal(err)
	}
	c.expect(c.get("/audit?resource_id="+webhook), 200, ">Webhook deleted</a>", ">"+receiver.URL+"</a>")
	c.expect(c.get("/audit?resource_id="+gone), 200, ">User removed</a>", `<a href="/users/`+gone+`">editor</a>`)
	c.expect(c.get("/audit?actor="+gone), 200, `<option value="`+gone+`" selected>editor</option>`)
}

// TestAudit_Exports checks that both exports have the events that the filters select, and
// that each export is an event.
func TestAudit_Exports(t *testing.T) {
	t.Parallel()
	h, risk, _ := harnessWithEvents(t)
	c := h.as(auth.Auditor)
	filters := "?action=risk.updated&q=editor"
	c.expect(c.get("/audit"+filters), 200, `href="/audit.csv?action=risk.updated&amp;q=editor"`, `href="/audit.ndjson?action=risk.updated&amp;q=editor"`)
	sheet := c.get("/audit.csv" + filters)
	c.expect(sheet, 200, "time,actor,actor_id,action,")
	if got := sheet.header.Get("Content-Disposition"); got != "attachment; filename=audit-2026-10-01.csv" {
		t.Errorf("got Content-Disposition %s", got)
	}
	rows, err := csv.NewReader(strings.NewReader(sheet.body)).ReadAll()
	if err != nil || len(rows) != 6 {
		t.Fatalf("got %d rows, %v, want 6", len(rows), err)
	}
	if row := rows[1]; row[1] != "editor" || row[3] != "risk.updated" || row[7] != h.find("risk", "claims")["title"] || row[8] != risk || !strings.Contains(row[11], `"from":"S4"`) {
		t.Errorf("got row %q", row)
	}
	lines := strings.Split(strings.TrimSpace(c.get("/audit.ndjson"+filters).body), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], `{"object":"audit_event"`) || !strings.Contains(lines[0], `"S4"`) {
		t.Errorf("got %d lines, the first is %s", len(lines), lines[0])
	}
	for _, format := range []string{"csv", "ndjson"} {
		if !strings.Contains(h.auditLog(), `"complete":true,"events":5,"filters":{"action":"risk.updated","q":"editor"},"format":"`+format+`"`) {
			t.Errorf("the audit log has no event of the export as %s", format)
		}
	}
	c.expect(c.get("/audit.csv?q=nothing+like+it"), 200, "time,actor,")
	c.expect(c.get("/audit.csv?since=x"), 400, "must be a date")
	h.as(auth.Editor).expect(h.as(auth.Editor).get("/audit.csv"), 403)
	// a text that a spreadsheet would run as a formula
	h.execSQL("UPDATE risks SET title = '=1+1' WHERE id = ?", risk)
	c.expect(c.get("/audit.csv"+filters), 200, ",'=1+1,")
}

// TestAudit_Pages follows the page links through the log. Events are listed newest
// first, and the links keep the filters.
func TestAudit_Pages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const n = 120
	for i := range n {
		err := h.store.Write(t.Context(), h.by(), func(tx *db.Tx) error {
			return tx.Audit(audit.Event{Action: "test.counted", Category: audit.System, Severity: audit.SeverityRead, Metadata: audit.Metadata{"number": i}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	c := h.as(auth.Admin)
	path, want := "/audit?action=test.*", n-1
	for pages := 0; path != ""; pages++ {
		r := c.get(path)
		if got := strings.Contains(r.body, "Back to the newest"); got != (pages > 0) {
			t.Errorf("page %d has a link to the newest events: %v", pages, got)
		}
		for _, found := range regexp.MustCompile(`<dt>Number</dt><dd>(\d+)</dd>`).FindAllStringSubmatch(r.body, -1) {
			if found[1] != fmt.Sprint(want) {
				t.Fatalf("got event number %s, want %d", found[1], want)
			}
			want--
		}
		path = ""
		if next := regexp.MustCompile(`rel="next" href="([^"]+)">Older`).FindStringSubmatch(r.body); next != nil {
			path = html.UnescapeString(next[1])
		}
	}
	if want != -1 {
		t.Errorf("%d events were not listed", want+1)
	}
}

// TestAudit_NeedsPlan checks that a plan that excludes the audit log has no access to its
// pages.
func TestAudit_NeedsPlan(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if _, err := h.store.Orgs.SetPlan(t.Context(), h.by(), db.DefaultOrganisation, db.Business, ""); err != nil {
		t.Fatal(err)
	}
	c := h.as(auth.Admin)
	for _, r := range []response{c.get("/audit"), c.get("/audit/verify"), c.post("/audit/verify")} {
		c.expect(r, 403, "The audit log is not part of this organisation&#39;s plan", "!organisation.updated", "!Verify the chain")
	}
}

// TestVerify_FindsChange checks that the page reports that the log is intact. After an
// event is altered, the page reports the position of that event.
func TestVerify_FindsChange(t *testing.T) {
	t.Parallel()
	h, risk, _ := harnessWithEvents(t)
	c := h.as(auth.Admin)
	c.expect(c.get("/audit/verify"), 200, "Verify the chain", "govsvc audit verify --print-head", "!intact")
	at := c.post("/audit/verify").header.Get("Location")
	r := c.get(at)
	check, err := h.store.Audit.Check(t.Context(), h.by().Org, "")
	if err != nil {
		t.Fatal(err)
	}
	c.expect(r, 200, "The audit log is intact", fmt.Sprintf("All %d events of default", check.Events), check.Head)
	c.expect(c.get(at), 200, "!The audit log is intact")
	h.as(auth.Editor).expect(h.as(auth.Editor).get(at), 403)

	c.get("/audit") // adds one event
	c.expect(c.follow(c.post("/audit/verify", "head", " "+strings.ToUpper(check.Head)), "/audit/verify"), 200, "contains the head that you noted, with ", " after it")
	c.expect(c.follow(c.post("/audit/verify", "head", strings.Repeat("0a", 32)), "/audit/verify"), 200, "does not contain that head", "!is intact")
	c.expect(c.post("/audit/verify", "head", hostile), 422, "f-head-error", "64 hexadecimal digits")

	h.execSQL("DROP TRIGGER audit_events_never_change")
	h.execSQL(`UPDATE audit_events SET event = replace(event, '"S2"', '"S9"') WHERE event LIKE '%"S2"%' AND resource_id = ?`, risk)
	var position int
	var forged string
	for i, event := range strings.Split(h.auditLog(), "\n") {
		if strings.Contains(event, `"S9"`) {
			position, forged = i+1, between(t, event, `"id":"`, `"`)
		}
	}
	r = c.follow(c.post("/audit/verify"), "/audit/verify")
	c.expect(r, 200, "The audit log is broken", fmt.Sprintf("Event %d or the event before it was altered", position), forged, fmt.Sprintf("%d events before are unaltered", position-1), "!intact")
}

// TestVerify_FindsShortenedLog checks that the verification reports events that are
// missing at the end.
func TestVerify_FindsShortenedLog(t *testing.T) {
	t.Parallel()
	h, _, _ := harnessWithEvents(t)
	c := h.as(auth.Admin)
	h.execSQL("DROP TRIGGER audit_events_never_go")
	h.execSQL("DELETE FROM audit_events WHERE seq > (SELECT max(seq) - 3 FROM audit_events)")
	c.expect(c.follow(c.post("/audit/verify"), "/audit/verify"), 200, "The audit log is broken", "are missing")
}

// TestVerify_OtherOrganisation checks that the page verifies the log of the selected
// organisation.
func TestVerify_OtherOrganisation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if _, err := h.auth.Memberships.CreateOrganisation(t.Context(), db.Actor{ID: h.user("admin").ID}, "it's ours", db.Enterprise); err != nil {
		t.Fatal(err)
	}
	c := h.as(auth.Admin)
	c.follow(c.post("/organisation", "name", "it's ours"), "/")
	c.expect(c.follow(c.post("/audit/verify"), "/audit/verify"), 200, "The audit log is intact", "All 3 events of it&#39;s ours", `--org &#39;it&#39;\&#39;&#39;s ours&#39; --print-head`)
}

// TestVerify_RunsOnce checks that only one verification runs at a time, so that other pages
// stay fast.
func TestVerify_RunsOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	release := h.site.HoldVerification()
	c.expect(c.post("/audit/verify"), 409, "A verification is in progress")
	release()
	c.follow(c.post("/audit/verify"), "/audit/verify")
}
