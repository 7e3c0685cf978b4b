package web_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"govsvc/db/auth"
)

var importAction = regexp.MustCompile(`action="(/import/[^"]+)"`)

// checkImport uploads a file for a check. It returns the preview page and the path that
// starts the import.
func (c *client) checkImport(name, content string) (page response, path string) {
	c.t.Helper()
	r := c.upload("/import", oneFile(name, content))
	page = c.get(r.header.Get("Location"))
	if found := importAction.FindStringSubmatch(page.body); found != nil {
		path = found[1]
	}
	return page, path
}

func riskLine(id, members string) string {
	return fmt.Sprintf(`{"object":"risk","risk_id":%q,"description":"What may happen."%s}`+"\n", id, members)
}

// TestImportPreview checks that the page lists the changes of an import. If the data
// changes after the preview, the import is refused and the page shows a new preview.
func TestImportPreview(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importRecords(riskLine("R-1", `,"severity":"LOW","owner_name":"Ada"`), riskLine("R-2", `,"title":"Same"`), riskLine("R-3", ""))
	c := h.as(auth.Editor)
	content := riskLine("R-1", `,"severity":"HIGH","owner_name":"Grace","mitigation_action":"`+strings.Repeat("x", 5000)+`"`) +
		riskLine("R-2", `,"title":"Same"`) + riskLine("R-9", `,"title":"Brand <new>"`)
	page, path := c.checkImport("risks.ndjson", content)
	c.expect(page, 200, "Changed records", ">R-1</a>", "<del>Ada</del>", "<ins>Grace</ins>", "<del>Low</del>", "<ins>High</ins>",
		"New records", "R-9", "Brand &lt;new&gt;", "!>Same<", "!Changes that need a reason", "!"+strings.Repeat("x", 300), strings.Repeat("x", 200)+"…",
		"!<textarea")

	h.importRecords(riskLine("R-1", `,"owner_name":"Edsger"`))
	moved := c.post(path)
	c.expect(moved, 409, "The data has changed since the last preview", "<del>Edsger</del>", "<ins>Grace</ins>")
	if log := h.auditLog(); strings.Contains(log, "Brand <new>") {
		t.Error("the refused import wrote a record")
	}
	c.expect(c.post(path), 410)
	path = importAction.FindStringSubmatch(moved.body)[1]
	h.importRecords(riskLine("R-3", `,"title":"No part of the import"`))
	c.expect(c.follow(c.post(path), "/import"), 200, "Imported 3 records from risks.ndjson: 1 new, 1 changed, 1 unchanged.")

	at := h.pathOf("/risks", "risk", "R-1")
	c.expect(c.get(at), 200, "Updated", "imported from risks.ndjson", "<del>Edsger</del>", "<ins>Grace</ins>", "!/audit?")
	admin := h.as(auth.Admin)
	r := admin.get(at)
	admin.expect(r, 200, ">risks.ndjson</a>")
	link := regexp.MustCompile(`href="(/audit\?[^"]*resource_type=import)"`).FindStringSubmatch(r.body)
	if link == nil {
		t.Fatal("the page has no link to the event of the import")
	}
	admin.expect(admin.get(strings.ReplaceAll(link[1], "&amp;", "&")), 200, "import.completed", "risks.ndjson")
	admin.expect(admin.get("/"), 200, "!risk.updated")
}

// TestImport_AsksForReason checks that an import that lowers the rating of a risk or
// closes it requires a reason.
func TestImport_AsksForReason(t *testing.T) {
	t.Parallel()
	const reason = "The model was withdrawn from production in June"
	h := newHarness(t, options{data: usersOnly})
	h.importRecords(riskLine("R-1", `,"severity":"CRITICAL"`), riskLine("R-2", `,"severity":"CRITICAL"`), riskLine("R-3", `,"likelihood":"LIKELY"`), riskLine("R-4", `,"severity":"LOW"`))
	c := h.as(auth.Editor)
	content := riskLine("R-1", `,"severity":"LOW"`) + riskLine("R-2", `,"status":"Closed"`) +
		riskLine("R-3", `,"likelihood":null,"severity_change_reason":"Its own reason, as the row has it"`) + riskLine("R-4", `,"severity":"HIGH"`)
	page, path := c.checkImport("risks.ndjson", content)
	c.expect(page, 200, "Changes that need a reason", `<textarea id="f-severity_change_reason"`, "For the 2 changes above", "Changed records", "R-4")
	for _, bad := range []string{"", "too short", strings.Repeat(" ", 30), strings.Repeat("x", 1001)} {
		c.expect(c.post(path, "severity_change_reason", bad), 422, `id="f-severity_change_reason-error"`, "Changes that need a reason")
	}
	if log := h.auditLog(); strings.Contains(log, "risk.updated") {
		t.Fatal("the file was imported without a reason")
	}
	c.expect(c.follow(c.post(path, "severity_change_reason", reason), "/import"), 200, "Imported 4 records")

	got := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(h.auditLog()), "\n") {
		var event struct {
			Action   string
			Metadata struct{ Changes map[string]struct{ To any } }
		}
		if err := json.Unmarshal([]byte(line), &event); err == nil && event.Action == "risk.updated" {
			for member, change := range event.Metadata.Changes {
				if member != "severity_change_reason" {
					got[fmt.Sprint(member, " ", change.To)] = fmt.Sprint(event.Metadata.Changes["severity_change_reason"].To)
				}
			}
		}
	}
	want := map[string]string{
		"severity LOW": reason, "status Closed": reason, "likelihood <nil>": "Its own reason, as the row has it", "severity HIGH": "<nil>",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got reasons %v, want %v", got, want)
	}
	c.expect(c.get(h.pathOf("/risks", "risk", "R-1")), 200, reason, "Critical")
	c.expect(c.get(h.pathOf("/risks", "risk", "R-3")), 200, "Its own reason")

	// The rule applies to the current data, which can differ from the data at the preview.
	h.importRecords(riskLine("R-4", `,"severity":"LOW"`))
	page, path = c.checkImport("risks.ndjson", riskLine("R-4", `,"severity":"MEDIUM"`))
	c.expect(page, 200, "!<textarea")
	h.importRecords(riskLine("R-4", `,"severity":"CRITICAL"`))
	c.expect(c.post(path), 409, "Changes that need a reason", "<textarea")
}

// TestImportPreview_IsBounded checks that a preview lists a limited number of records.
// The checked files of one user do not remove those of another user.
func TestImportPreview_IsBounded(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	var before, after strings.Builder
	for i := range 1000 {
		before.WriteString(riskLine(fmt.Sprint("R-", i), `,"title":"before"`))
		after.WriteString(riskLine(fmt.Sprint("R-", i), `,"title":"after"`))
		after.WriteString(riskLine(fmt.Sprint("N-", i), ""))
	}
	h.importRecords(strings.TrimSpace(before.String()))
	other := h.as(auth.Admin)
	theirs := other.upload("/import", oneFile("risks.ndjson", riskLine("X", ""))).header.Get("Location")
	c := h.as(auth.Editor)
	page, path := c.checkImport("risks.ndjson", after.String())
	c.expect(page, 200, "And 800 more records, not listed", "And 900 more records, not listed")
	if n := strings.Count(page.body, "<ins>after</ins>"); n != 200 {
		t.Errorf("%d changed records are listed, want 200", n)
	}
	for i := range 8 {
		c.expect(c.upload("/import", oneFile("risks.ndjson", riskLine(fmt.Sprint("Y-", i), ""))), 303)
	}
	c.expect(c.get(path), 410)
	other.expect(other.get(theirs), 200, "Import 1 record")
}

// TestCheckins_AreInHistory checks that the history of a key result includes imported
// check-ins.
func TestCheckins_AreInHistory(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importRecords(`{"object":"kpi","code":"K","statement":"s","metric_name":"m","unit":"%","direction":"increase","target_value":9,"measurement_frequency":"monthly","status":"active"}`,
		`{"object":"kpi_checkin","key_result_code":"K","period_start":"2026-01-01","value":1}`)
	h.importRecords(`{"object":"kpi_checkin","key_result_code":"K","period_start":"2026-01-01","value":77}`)
	c := h.as(auth.Viewer)
	c.expect(c.get(h.pathOf("/kpis", "kpi", "K")), 200, "Check-in created", "Check-in updated", "<ins>77</ins>", "<b>Created</b>", "imported from scene.ndjson")
}
