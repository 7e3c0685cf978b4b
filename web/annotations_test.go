package web_test

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
)

// linkIDs returns the ids in the actions of a page that remove links.
func removalsOf(page, what string) []string {
	var paths []string
	for _, match := range regexp.MustCompile(`action="([^"]*/`+what+`/[^"]*/remove)"`).FindAllStringSubmatch(page, -1) {
		paths = append(paths, match[1])
	}
	return paths
}

// TestLinks finds a record by its name and by its key, links it, shows the link on both
// pages and in both histories, and removes it.
func TestLinks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	vendor, risk := h.pathOf("/vendors/inventory", "vendor", "codewharf"), h.find("risk", "RISK-0033")
	riskPath := "/risks/" + text(risk["id"])
	c.expect(c.get(vendor), 200, "No links yet", `href="`+vendor+`/links/new"`)
	c.expect(c.get(vendor+"/links/new"), 200, "Name or key of the other record", "!<table")
	for _, words := range []string{"RISK-0033", "service accounts agent"} {
		c.expect(c.get(vendor+"/links/new?q="+strings.ReplaceAll(words, " ", "+")), 200, "Service accounts of agents", `action="`+vendor+`/links"`, text(risk["id"]))
	}
	c.expect(c.get(vendor+"/links/new?q=nothing-has-this"), 200, "No matching records")
	add := func() response { return c.post(vendor+"/links", "type", "risk", "id", text(risk["id"])) }
	c.expect(c.follow(add(), vendor+"#links"), 200, "Service accounts of agents", "RISK-0033", "The link to", "<b>Linked to</b>", `href="`+riskPath+`"`)
	c.expect(c.follow(add(), vendor+"#links"), 200, "already linked")
	c.expect(c.get(vendor+"/links/new?q=RISK-0033"), 200, "No matching records")
	c.expect(c.get(riskPath), 200, "Codewharf Inc.", "<b>Linked to</b>", "vendor Codewharf", `href="`+vendor+`"`)
	h.as(auth.Viewer).expect(h.as(auth.Viewer).get(riskPath), 200, "Codewharf Inc.", "!links/new", "!/remove")

	remove := removalsOf(c.get(riskPath).body, "links")
	if len(remove) != 1 {
		t.Fatalf("got %d links that can be removed, want 1", len(remove))
	}
	c.expect(c.post(strings.Replace(remove[0], riskPath, h.pathOf("/risks", "risk", "RISK-0001"), 1)), 404)
	c.expect(c.follow(c.post(remove[0]), riskPath+"#links"), 200, "No links yet", "<b>Unlinked from</b>", "vendor Codewharf")
	c.expect(c.get(vendor), 200, "No links yet", "<b>Unlinked from</b>", "risk Service accounts")
	c.expect(c.post(remove[0]), 404)
	for _, form := range [][]string{{"type", "risk", "id", unknownID}, {"type", "signal", "id", text(h.find("signal", "")["id"])}, {}} {
		c.expect(c.post(vendor+"/links", form...), 404)
	}
	if got := strings.Count(h.auditLog(), `"action":"link.`); got != 32+2 {
		t.Errorf("got %d events about links, want those of the demonstration data and 2", got)
	}
}

// TestComments adds comments and removes them. An editor removes own comments only.
func TestComments(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	editor, admin := h.as(auth.Editor), h.as(auth.Admin)
	at := h.pathOf("/incidents", "incident", "INC-2026-008")
	editor.expect(editor.follow(editor.post(at+"/comments", "text", " <b>Stopped</b>\r\nat noon "), at+"#comments"), 200,
		"&lt;b&gt;Stopped&lt;/b&gt;\nat noon", "<b>editor</b>", "<b>Commented</b>", "!<b>Stopped")
	admin.expect(admin.follow(admin.post(at+"/comments", "text", "Seen."), at+"#comments"), 200, "Seen.")
	own, all := removalsOf(editor.get(at).body, "comments"), removalsOf(admin.get(at).body, "comments")
	if len(own) != 1 || len(all) != 2 || own[0] != all[0] {
		t.Fatalf("an editor can remove %v, an administrator %v", own, all)
	}
	editor.expect(editor.post(all[1]), 404)
	admin.expect(admin.follow(admin.post(own[0]), at+"#comments"), 200, "<b>Comment removed</b>", "<del>&lt;b&gt;Stopped")
	for text, want := range map[string]string{" ": "Enter a comment", strings.Repeat("x", 20_001): "at most 20,000 characters"} {
		r := editor.post(at+"/comments", "text", text)
		editor.expect(r, 422, want, `aria-invalid="true"`, strings.TrimSpace(text)+"</textarea>", "<h2 id=\"history\">")
	}
	viewer := h.as(auth.Viewer)
	viewer.expect(viewer.get(at), 200, "Seen.", "!<textarea", "!/comments")
	for i := range 60 {
		editor.expect(editor.post(at+"/comments", "text", fmt.Sprint("Number ", i)), 303)
	}
	r := editor.get(at)
	editor.expect(r, 200, "Number 59", "Number 11", `!<p class="prose">Number 5</p>`, "Show earlier comments", `<span class="muted">61</span>`)
	earlier := regexp.MustCompile(`href="([^"]*before=[^"#]*)`).FindStringSubmatch(r.body)[1]
	editor.expect(editor.get(html.UnescapeString(earlier)), 200, "Seen.", `<p class="prose">Number 5</p>`, "!Show earlier comments")
}

// TestAttachments attaches files, downloads one as a file that no browser shows, and
// removes it.
func TestAttachments(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	at := h.pathOf("/risks", "risk", "RISK-0040")
	page := "<script>alert(1)</script>"
	r := c.follow(c.upload(at+"/attachments", []uploadedFile{{"file", `C:\minutes.html`, page}, {"file", "plan.pdf", strings.Repeat("x", 3<<20)}}), at+"#attachments")
	c.expect(r, 200, "2 files have been attached.", "minutes.html", "plan.pdf", "3.1\u00a0MB", "SHA-256 ", "<b>File attached</b>")
	file := regexp.MustCompile(`href="(` + at + `/attachments/[^"]+)"[^>]*>minutes.html`).FindStringSubmatch(r.body)[1]
	viewer := h.as(auth.Viewer)
	got := viewer.get(file)
	viewer.expect(got, 200, page)
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "Content-Disposition": "attachment; filename=minutes.html", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: got %q, want %q", name, got.header.Get(name), want)
		}
	}
	c.expect(viewer.get(strings.Replace(file, at, h.pathOf("/risks", "risk", "RISK-0039"), 1)), 404)
	viewer.expect(viewer.upload(at+"/attachments", []uploadedFile{{"file", "a", "x"}}), 403)
	c.expect(c.upload(at+"/attachments", nil), 422, "Choose a file")
	c.expect(c.upload(at+"/attachments", []uploadedFile{{"file", "empty.txt", ""}}), 422, "empty.txt is empty")
	c.expect(c.follow(c.post(file+"/remove"), at+"#attachments"), 200, "<b>File removed</b>", "<del>minutes.html</del>", "plan.pdf")
	c.expect(c.get(file), 404)
	if left := testkit.QuerySQL(t, h.path, "SELECT count(*) FROM evidence_pieces"); left[0] != "3" {
		t.Errorf("got %s pieces, want the 3 of the other file", left[0])
	}
}

// TestAttachments_Damaged downloads a file whose bytes do not have its hash. The download breaks off
// early, so that no client takes the file for complete.
func TestAttachments_Damaged(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	at := h.pathOf("/risks", "risk", "RISK-0040")
	r := c.follow(c.upload(at+"/attachments", []uploadedFile{{"file", "plan.pdf", strings.Repeat("x", 200_000)}}), at+"#attachments")
	file := regexp.MustCompile(`href="(` + at + `/attachments/[^"]+)"`).FindStringSubmatch(r.body)[1]
	testkit.ExecSQL(t, h.path, "UPDATE attachments SET sha256 = '"+strings.Repeat("0", 64)+"'")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+file, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Error("the client has taken a damaged file for complete")
	}
}

// TestArchive archives a record of each type. Its list and its CSV leave it out, its page,
// exports and links keep it.
func TestArchive(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	exported := string(h.export())
	for _, res := range resource.Linked() {
		record := h.find(res.Type, "")
		at, list := res.Page.Base+"/"+text(record["id"]), res.Page.List
		inList := `href="` + at + `"`
		c.expect(c.get(list), 200, inList)
		c.expect(c.follow(c.post(at+"/archive"), at), 200, "Archived by editor", "<b>Archived</b>", `action="`+at+`/restore"`, "!"+at+"/archive")
		c.expect(c.post(at+"/archive"), 303)
		c.expect(c.get(list), 200, "!"+inList)
		c.expect(c.get(res.Page.Base+".csv"), 200, "!"+text(record["id"]))
		c.expect(c.get(list+"?archived=only"), 200, `href="`+at+`?archived=only"`, `<option value="only" selected>Only archived`)
		c.expect(c.get(res.Page.Base+".csv?archived=only"), 200, text(record["id"]))
		c.expect(c.follow(c.post(at+"/restore"), at), 200, "<b>Restored</b>", "!Archived by")
		c.expect(c.get(list), 200, inList)
		c.expect(c.get(list+"?archived=only"), 200, "!"+inList)
	}
	if string(h.export()) != exported {
		t.Error("archiving changed a record")
	}
	c.expect(c.get("/risks?archived=yes"), 400)
	c.expect(c.post("/signals/"+text(h.find("signal", "")["id"])+"/archive"), 404)
	if got := strings.Count(h.auditLog(), ".archived"); got != len(resource.Linked()) {
		t.Errorf("got %d events of archived records, want %d", got, len(resource.Linked()))
	}
}
