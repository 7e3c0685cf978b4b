package web_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/server/evidence"
	"govsvc/server/transfer"
)

const goodRisks = `{"object":"risk","risk_id":"R-1","title":"One","description":"What may happen."}
{"object":"risk","risk_id":"R-2","title":"Two","description":"What else may happen."}
`

func oneFile(name, content string) []uploadedFile { return []uploadedFile{{"file", name, content}} }

// TestImport checks a file with errors and one without errors. Then it imports exactly
// the checked file.
func TestImport(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	risks := func() int {
		t.Helper()
		return strings.Count(string(h.export("risk")), `"object":"risk"`)
	}
	before := risks()

	bad := `{"object":"risk","risk_id":"R-1","description":"What may happen.","severity":"HUGE"}` + "\n" + `{"object":"risk"}` + "\n" + "not JSON\n"
	c.expect(c.upload("/import", oneFile("risks.ndjson", bad)), 422,
		"risks.ndjson can't be imported yet", "Nothing was written", "<code>severity</code>", "Must be one of", "not valid JSON", `!action="/import/`)
	c.expect(c.upload("/import", oneFile("risks.csv", "risk_id;title\nR-1;One\n"), "type", "risk"), 422, "description", `<option value="risk" selected>`)
	c.expect(c.upload("/import", oneFile("risks.csv", "risk_id;title\nR-1;One\n")), 422, "which type")
	c.expect(c.upload("/import", nil), 422, `id="f-file-error">Choose a file.`)
	c.expect(c.upload("/import", oneFile("empty.json", "")), 422, `id="f-file-error">This file is empty.`)
	c.expect(c.upload("/import", oneFile("x.csv", "a\n"), "type", "planet"), 422, `id="f-type-error"`)
	c.expect(c.post("/import", "file", "x"), 415)

	r := c.upload("/import", oneFile("risks.ndjson", goodRisks), "type", "vendor")
	page := c.get(r.header.Get("Location"))
	c.expect(page, 200, "risks.ndjson can be imported", "Import 2 records", "Nothing has been written yet")
	if now := risks(); now != before {
		t.Errorf("got %d risks before the import, want %d", now, before)
	}
	ticket := regexp.MustCompile(`action="(/import/[^"]+)"`).FindStringSubmatch(page.body)[1]
	for _, other := range []*client{h.as(auth.Admin), h.as(auth.Viewer)} {
		if r := other.post(ticket); r.status != 410 && r.status != 403 {
			t.Errorf("another user imported the file: got status %d, want 410 or 403", r.status)
		}
	}
	subsidiary := h.as(auth.Editor)
	subsidiary.follow(subsidiary.post("/organisation", "name", "subsidiary"), "/")
	subsidiary.expect(subsidiary.post(ticket), 410, "This preview has expired")
	subsidiary.follow(subsidiary.post("/organisation", "name", "default"), "/")
	c.expect(c.follow(c.post(ticket), "/import"), 200, "Imported 2 records from risks.ndjson: 2 new, 0 changed, 0 unchanged.")
	if now := risks(); now != before+2 {
		t.Errorf("got %d risks, want %d", now, before+2)
	}
	c.expect(c.post(ticket), 410)
	log := h.auditLog()
	if n := strings.Count(log, `"action":"import.completed"`); n != 2 || !strings.Contains(log, `"sources":["risks.ndjson"]`) || !strings.Contains(log, h.user("editor").ID+`","action":"import.completed"`) {
		t.Errorf("the audit log has %d import.completed events, want 2 with the file name and the user:\n%s", n, log)
	}

	r = c.upload("/import", oneFile("risks.ndjson", goodRisks))
	c.expect(c.get(r.header.Get("Location")), 200, "has no changes", "!Import 2 records")

	r = c.upload("/import", oneFile("more.ndjson", `{"object":"risk","risk_id":"R-3","description":"Late."}`))
	h.clock.Advance(15*time.Minute + time.Second)
	c.expect(c.post(r.header.Get("Location")), 410, "Check the file again")
	c.expect(h.as(auth.Viewer).upload("/import", oneFile("risks.ndjson", goodRisks)), 403)
}

// TestImport_Bounds checks that a file has a maximum size. When a user checks too many
// files, the oldest one is removed.
func TestImport_Bounds(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	c := h.as(auth.Editor)
	large := `{"object":"risk","risk_id":"R-1","description":"` + strings.Repeat("x", 64<<20+128<<10) + `"}`
	c.expect(c.upload("/import", oneFile("large.json", large)), 413, "govsvc import", "at most 64\u00a0MB")
	c.expect(c.get("/import"), 200, "at most 64\u00a0MB.")
	var first string
	for i := range 9 {
		h.clock.Advance(time.Second)
		r := c.upload("/import", oneFile("risks.ndjson", fmt.Sprintf(`{"object":"risk","risk_id":"R-%d","description":"One."}`, i)))
		if first == "" {
			first = r.header.Get("Location")
		}
	}
	c.expect(c.get(first), 410)
	c.expect(c.upload("/import", oneFile("a/../../b\r\n\".ndjson", goodRisks)), 303)
}

// TestTemplates checks that each resource has a CSV template that the import accepts.
func TestTemplates(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	for _, object := range resource.Types() {
		r := c.get("/import/templates/" + object + ".csv")
		c.expect(r, 200, "\n")
		if got := r.header.Get("Content-Disposition"); got != `attachment; filename=`+object+`.csv` {
			t.Errorf("%s: got Content-Disposition %q", object, got)
		}
		c.expect(c.upload("/import", oneFile(object+".csv", r.body), "type", object), 303)
	}
	c.expect(c.get("/import/templates/planet.csv"), 404)
	c.expect(c.get("/import/templates/risk"), 404)
}

// TestSheet checks that the CSV of a list can be imported again without changes. A
// spreadsheet reads none of its cells as a formula.
func TestSheet(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var lines []string
	for i, text := range []string{"=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\\t=1", "'=quoted", "''=twice", "'plain", `\"=1\"`, "a;b", "two\\nlines", "", "=HYPERLINK(\\\"x\\\")"} {
		lines = append(lines, fmt.Sprintf(`{"object":"vendor","vendor_key":"sheet-%02d","vendor_name":"Sheet","category":"Sheet","initial_risk_band":"LOW","annual_cost_usd":5,"notes":"%s"}`, i, text))
	}
	h.importRecords(append(lines, `{"object":"assessment","methodology_version":"Sheet","completed_at":"2026-01-01T00:00:00Z","frameworks_applied":["=1","@2"]}`)...)
	c := h.as(auth.Viewer)
	before := string(h.export())
	for _, path := range []string{"/vendors/inventory.csv?q=sheet&sort=vendor_key", "/vendors/inventory.csv", "/risks.csv", "/incidents.csv?severity=high", "/kpis.csv", "/assessments.csv", "/roadmap/milestones.csv", "/signals.csv"} {
		r := c.get(path)
		c.expect(r, 200)
		if kind := r.header.Get("Content-Type"); kind != "text/csv; charset=utf-8" || !strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment; filename=") {
			t.Errorf("%s: got Content-Type %q and Content-Disposition %q", path, kind, r.header.Get("Content-Disposition"))
		}
		if begins := regexp.MustCompile(`(?m)(^|,)"?[=+@\t]`).FindString(r.body); begins != "" {
			t.Errorf("%s: a cell starts as a formula (%q):\n%.3000s", path, begins, r.body)
		}
		h.importCSV(r.body)
	}
	if after := string(h.export()); after != before {
		t.Error("the import changed records")
	}
	sheet := c.get("/vendors/inventory.csv?q=sheet&sort=vendor_key").body
	for _, want := range []string{`'=1+1,`, `,'+cmd|`, `,'-2,`, `,'@SUM(A1)`, `,''=quoted,`, `,'''=twice,`, `,'plain,`, ",5,"} {
		if !strings.Contains(sheet, want) {
			t.Errorf("want %s in\n%s", want, sheet)
		}
	}
	expectOrder(t, sheet, "sheet-00", "sheet-01", "sheet-12")
	if strings.Count(sheet, "\n") != 15 { // one cell contains a line break
		t.Errorf("got %d lines, want 15, in\n%s", strings.Count(sheet, "\n"), sheet)
	}
	if !strings.Contains(h.auditLog(), `"action":"export.completed"`) {
		t.Error("the audit log has no export.completed event")
	}
	c.expect(c.get("/risks.csv?severity=HUGE"), 400, "request is not valid")
}

// importCSV imports CSV and reports an error if that changes a record.
func (h *harness) importCSV(csv string) {
	h.t.Helper()
	doc := testkit.Document(h.t)
	report, err := transfer.Import(h.t.Context(), h.store, doc, h.by(), []transfer.Source{transfer.Bytes("view.csv", []byte(csv))}, transfer.Options{})
	if err != nil {
		h.t.Fatalf("%v in\n%.3000s", err, csv)
	}
	for _, count := range report.Types {
		if count.Created+count.Updated > 0 {
			h.t.Errorf("%+v of\n%.3000s", count, csv)
		}
	}
}

// export returns the records of the given types as NDJSON, or of all types by default.
func (h *harness) export(types ...string) []byte {
	h.t.Helper()
	doc := testkit.Document(h.t)
	var out bytes.Buffer
	if _, err := transfer.Export(h.t.Context(), h.store, doc, h.by(), h.by().Org, types, transfer.NDJSON, &out); err != nil {
		h.t.Fatal(err)
	}
	return out.Bytes()
}

func (h *harness) user(name string) auth.User {
	h.t.Helper()
	user, err := h.auth.Users.ByName(h.t.Context(), 0, name)
	if err != nil {
		h.t.Fatal(err)
	}
	return user
}

// TestEvidence files an evidence pack with attachments, then downloads and verifies it.
func TestEvidence(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	c.expect(c.get("/evidence"), 200, "No evidence packs yet", `href="/evidence/new"`)
	h.as(auth.Viewer).expect(h.as(auth.Viewer).get("/evidence"), 200, "!/evidence/new")
	c.expect(c.get("/evidence/new"), 200, `<option value="gdpr"`, "of 64\u00a0MB each and 256\u00a0MB in total", " multiple", `enctype="multipart/form-data"`)

	policy := []uploadedFile{{"attachments", "policy.txt", "Our policy."}, {"attachments", "minutes.txt", "The minutes."}}
	c.expect(c.upload("/evidence", policy, "title", "  ", "regime_id", "gdpr"), 422, `id="f-title-error"`, `<option value="gdpr" selected>`, "Choose the files again")
	c.expect(c.upload("/evidence", nil, "title", "Review", "regime_id", "mars"), 422, `id="f-regime_id-error"`)
	c.expect(c.upload("/evidence", []uploadedFile{policy[0], policy[0]}, "title", "Review"), 422, `id="f-attachments-error"`)
	var many []uploadedFile
	for i := range 51 {
		many = append(many, uploadedFile{"attachments", fmt.Sprintf("%d.txt", i), "x"})
	}
	c.expect(c.upload("/evidence", many, "title", "Review"), 413, "too many files")

	r := c.upload("/evidence", policy, "title", "Review <b>", "regime_id", "gdpr")
	at := r.header.Get("Location")
	page := c.follow(r, at)
	c.expect(page, 200, "The pack has been filed.", "Review &lt;b&gt;", "General Data Protection Regulation", "govsvc evidence verify", "editor", at+"/pack.zip")
	h.as(auth.Viewer).expect(h.as(auth.Viewer).get("/evidence"), 200, "Review &lt;b&gt;", at+"/pack.zip")
	h.as(auth.Viewer).expect(h.as(auth.Viewer).upload("/evidence", nil, "title", "x"), 403)

	pack := h.as(auth.Viewer).get(at + "/pack.zip")
	if pack.status != 200 || pack.header.Get("Content-Type") != "application/zip" || !strings.HasPrefix(pack.header.Get("Content-Disposition"), "attachment; filename=evidence-") ||
		pack.header.Get("Content-Length") != fmt.Sprint(len(pack.body)) {
		t.Fatalf("got status %d and header %v", pack.status, pack.header)
	}
	verified, err := evidence.Verify(t.Context(), strings.NewReader(pack.body), int64(len(pack.body)))
	if err != nil {
		t.Fatal(err)
	}
	if verified.FiledBy != h.user("editor").ID || !strings.Contains(page.body, verified.ManifestSHA256) {
		t.Errorf("the pack was filed by %s, with the manifest hash %s", verified.FiledBy, verified.ManifestSHA256)
	}
	archive, err := zip.NewReader(strings.NewReader(pack.body), int64(len(pack.body)))
	if err != nil {
		t.Fatal(err)
	}
	attached, err := archive.Open("attachments/policy.txt")
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(attached); string(text) != "Our policy." {
		t.Errorf("got attachment %q, want the uploaded text", text)
	}
	manifest, err := archive.Open("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(manifest)
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != verified.ManifestSHA256 {
		t.Error("the hash of the manifest differs from the verified hash")
	}
	c.expect(c.get("/evidence/0190d6a1-0000-7000-8000-000000000000"), 404)
	c.expect(c.get("/evidence/0190d6a1-0000-7000-8000-000000000000/pack.zip"), 404)
	if log := h.auditLog(); !strings.Contains(log, "evidence_pack.exported") || !strings.Contains(log, "evidence_pack.filed") {
		t.Error("the audit log lacks evidence_pack.filed or evidence_pack.exported")
	}
}
