package web_test

import (
	"encoding/csv"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"govsvc/db/auth"
	"govsvc/db/resource"
)

// TestLists_FilterByChoices checks that filters by texts offer the values of the
// organisation, and find parts of other texts.
func TestLists_FilterByChoices(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	c.expect(c.get("/compliance"), 200, `<option value="eu-ai-act">EU AI Act</option>`, `<option value="EU">EU</option>`)
	c.expect(c.get("/roadmap"), 200, `<select id="f-phase"`, `<option value="Embed">Embed</option>`)
	c.expect(c.get("/kpis"), 200, `<select id="f-code"`, `<option value="KR-INV-01">KR-INV-01</option>`)
	c.expect(c.get("/signals"), 200, `<select id="f-type"`, `<select id="f-module_id"`, `<option value="compliance">Compliance</option>`)
	all := regexp.MustCompile(`(\d+) obligations`).FindStringSubmatch(c.get("/compliance").body)[1]
	for _, row := range []struct{ path, want string }{
		{"/compliance?regime_id=eu-ai-act", `<option value="eu-ai-act" selected>EU AI Act`},
		{"/compliance?regime_id=AI-ACT", `<option value="AI-ACT" selected>Contains “AI-ACT”`},
		{"/compliance?owner_role=protection", `name="owner_role" value="protection"`},
	} {
		r := c.get(row.path)
		c.expect(r, 200, row.want, "!>"+all+" obligations", "obligations</p>")
	}
	part, whole := c.get("/compliance?regime_id=AI-ACT"), c.get("/compliance?regime_id=eu-ai-act")
	total := regexp.MustCompile(`\d+ obligations`)
	if a, b := total.FindString(part.body), total.FindString(whole.body); a != b || a == "" {
		t.Errorf("a part of a regime's key finds %q, the key %q", a, b)
	}
	for i := range 51 {
		h.importRecords(fmt.Sprintf(`{"object":"kpi","code":"K-%d","statement":"S","metric_name":"M","unit":"%%","direction":"increase","target_value":1,"measurement_frequency":"weekly","status":"active"}`, i))
	}
	c.expect(c.get("/kpis?code=k-4"), 200, `<input id="f-code" type="text" name="code" value="k-4"`, "11 KPIs") // too many to choose from
	c.expect(c.get("/kpis?code=K-4"), 200, "1 KPI<")
}

// TestLists_Due checks the order of due dates, what is overdue, and the filter by it.
func TestLists_Due(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	today := h.clock.Now().UTC()
	day := func(days int) string { return today.AddDate(0, 0, days).Format(time.DateOnly) }
	for i, row := range []struct{ due, status string }{
		{`"` + day(-1) + `"`, "Open"}, {`"` + day(-2) + `"`, "Closed"}, {`"` + day(0) + `"`, "Open"}, {`null`, "Open"}, {`"` + day(20) + `"`, "InProgress"},
	} {
		h.importRecords(fmt.Sprintf(`{"object":"risk","risk_id":"R-%d","title":"Risk %d","description":"D","status":%q,"target_date":%s}`, i, i, row.status, row.due))
	}
	c := h.as(auth.Viewer)
	c.expect(c.get("/risks"), 200, `href="/risks?sort=target_date"`) // the first click sorts ascending
	ascending := c.get("/risks?sort=target_date")
	expectOrder(t, ascending.body, ">Risk 1<", ">Risk 0<", ">Risk 2<", ">Risk 4<", ">Risk 3<")
	expectOrder(t, c.get("/risks?sort=-target_date").body, ">Risk 4<", ">Risk 2<", ">Risk 0<", ">Risk 1<", ">Risk 3<")
	if n := strings.Count(ascending.body, `<span class="overdue">overdue</span>`); n != 1 {
		t.Errorf("%d risks are overdue, want 1", n)
	}
	expectOrder(t, ascending.body, ">Risk 0<", "overdue</span>", ">Risk 2<")
	for due, want := range map[string]string{"overdue": "0", "week": "2", "month": "2 4", "none": "3"} {
		var got []string
		for _, match := range regexp.MustCompile(`>Risk (\d)<`).FindAllStringSubmatch(c.get("/risks?sort=target_date&due="+due).body, -1) {
			got = append(got, match[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("due %s: got risks %v, want %s", due, got, want)
		}
	}
	c.expect(c.get("/risks?due=soon"), 400)
	c.expect(c.get("/signals?due=overdue"), 200, `!name="due"`)
}

// TestLists_Columns checks that a user's columns are stored for that user, with an audit
// event, and that an address can have columns of its own.
func TestLists_Columns(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	heads := func(r response) string {
		var labels []string
		for _, match := range regexp.MustCompile(`<th scope="col" class="kind-[a-z]*"[^>]*>(?:<a href="[^"]*">)?([^<]+)`).FindAllStringSubmatch(r.body, -1) {
			labels = append(labels, html.UnescapeString(match[1]))
		}
		return strings.Join(labels, ", ")
	}
	usual := heads(c.get("/risks"))
	c.follow(c.post("/risks/columns", "query", "severity=HIGH&cursor=x", "column", "dimension", "column", "status", "column", "unknown"), "/risks?severity=HIGH")
	if got := heads(c.get("/risks")); got != "Title, Status, Dimension" {
		t.Errorf("got columns %s", got)
	}
	if got := heads(c.get("/risks?columns=owner_name")); got != "Title, Owner" {
		t.Errorf("got columns %s of the address", got)
	}
	if got := heads(h.as(auth.Editor).get("/risks")); got != usual {
		t.Errorf("another user has the columns %s, want %s", got, usual)
	}
	if !h.hasAuditEvent("list_settings.changed", auth.Viewer) {
		t.Error("the audit log has no change of columns")
	}
	before := len(h.auditLog())
	c.follow(c.post("/risks/columns", "column", "dimension", "column", "status"), "/risks")
	if len(h.auditLog()) != before {
		t.Error("unchanged columns were written")
	}
	c.follow(c.post("/risks/columns"), "/risks")
	if got := heads(c.get("/risks")); got != "Title" {
		t.Errorf("got columns %s, want only the name", got)
	}
	c.follow(c.post("/risks/columns", "default", "true"), "/risks")
	if got := heads(c.get("/risks")); got != usual {
		t.Errorf("got columns %s, want %s again", got, usual)
	}
	for _, res := range resource.Pages() { // every column can be shown
		r := c.get(res.Page.List)
		path := res.Page.List + "?columns=" + strings.Join(optionValues(r.body, "column"), ",")
		c.expect(c.get(path), 200, "!<no value>")
		want := len(optionValues(r.body, "column"))
		if res == resource.KPI {
			want += len([]string{"Attainment", "Trend"}) // always shown
		}
		if got := strings.Count(heads(c.get(path)), ","); got != want {
			t.Errorf("%s: got %d columns of %d", path, got, want)
		}
	}
}

// optionValues returns the values of check boxes with a name.
func optionValues(page, name string) (values []string) {
	for _, match := range regexp.MustCompile(`<input type="checkbox" name="`+name+`" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		values = append(values, html.UnescapeString(match[1]))
	}
	return values
}

// TestLists_PageSize checks that the number of records on a page is kept.
func TestLists_PageSize(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.importRisks(120)
	c := h.as(auth.Viewer)
	for _, size := range []string{"25", "100", "50"} {
		c.follow(c.post("/risks/page-size", "size", size, "query", "q=number&sort=title"), "/risks?q=number&sort=title")
		r := c.get("/risks")
		c.expect(r, 200, `aria-label="`+size+` per page" aria-current="true"`)
		if n := fmt.Sprint(countRows(r.body)); n != size {
			t.Errorf("%s rows, want %s", n, size)
		}
	}
	c.expect(c.post("/risks/page-size", "size", "5000"), 400)
	c.expect(h.as(auth.Editor).get("/risks"), 200, `aria-label="50 per page" aria-current="true"`)
}

// TestLists_SavedViews saves, opens, renames and removes views. They belong to one user and
// have limits.
func TestLists_SavedViews(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	hidden := func(r response, name string) string {
		match := regexp.MustCompile(`<input type="hidden" name="` + name + `" value="([^"]*)">`).FindStringSubmatch(r.body)
		if match == nil {
			t.Fatalf("no hidden field %s in\n%.3000s", name, r.body)
		}
		return html.UnescapeString(match[1])
	}
	saved := func(c *client, address, name string) response {
		r := c.get("/risks" + address)
		query := regexp.MustCompile(`action="/risks/views" novalidate><input type="hidden" name="query" value="([^"]*)">`).FindStringSubmatch(r.body)
		if query == nil {
			t.Fatalf("no form to save a view in\n%.3000s", r.body)
		}
		return c.post("/risks/views", "query", html.UnescapeString(query[1]), "name", name)
	}
	open := c.follow(saved(c, "?severity=HIGH&sort=target_date&columns=title,status", "Mine & hot"), "/risks")
	c.expect(open, 200, "The view “Mine &amp; hot” has been saved.", `aria-current="true">Mine &amp; hot</a>`, "Rename view", "!Save view</summary>", ">Status", "!>Likelihood<svg")
	c.expect(c.get("/risks"), 200, `columns=title%2Cstatus&amp;severity=HIGH&amp;sort=target_date">Mine &amp; hot</a>`, `aria-current="true">All risks</a>`)
	c.expect(h.as(auth.Editor).get("/risks"), 200, "!Mine &amp; hot")
	c.expect(c.get("/vendors"), 200, "!Mine &amp; hot")
	view, query := hidden(open, "view"), hidden(open, "query")

	// another user can neither rename nor remove it
	for _, action := range []string{"rename", "remove"} {
		c.expect(h.as(auth.Editor).post("/risks/views/"+action, "view", view, "name", "Stolen"), 404)
		c.expect(c.post("/vendors/inventory/views/"+action, "view", view, "name", "Elsewhere"), 404)
	}
	c.follow(saved(c, "?status=Open", "Open ones"), "/risks")
	c.expect(c.post("/risks/views/rename", "view", view, "name", "Open ones", "query", query), 422, "Another view of this list has this name.", "Mine &amp; hot")
	c.expect(c.post("/risks/views/rename", "view", view, "name", " ", "query", query), 422, "Name must be one line of 1 to 60 characters.")
	c.follow(c.post("/risks/views/rename", "view", view, "name", "High", "query", query), "/risks")
	c.expect(c.get("/risks"), 200, ">High</a>", "!Mine")

	// a view with the same name is replaced
	c.follow(saved(c, "?status=Closed", "Open ones"), "/risks")
	c.expect(c.get("/risks"), 200, "status=Closed\">Open ones</a>", "!status=Open\"")
	c.follow(c.post("/risks/views/remove", "view", view), "/risks")
	c.expect(c.get("/risks"), 200, "!>High</a>")
	c.expect(c.post("/risks/views/remove", "view", view), 404)

	c.expect(saved(c, "?status=Open", strings.Repeat("é", 61)), 422, "1 to 60 characters")
	c.expect(saved(c, "?q="+strings.Repeat("x", 150)+"&owner_name="+strings.Repeat("%25", 180), "Long"), 303)
	for i := range 18 {
		c.follow(saved(c, fmt.Sprint("?q=", i), fmt.Sprint("View ", i)), "/risks")
	}
	c.expect(saved(c, "?q=more", "One more"), 422, "A list has at most 20 views")
	for _, action := range []string{"list_view.created", "list_view.updated", "list_view.removed"} {
		if !h.hasAuditEvent(action, auth.Viewer) {
			t.Errorf("the audit log has no %s", action)
		}
	}
}

// TestLists_CSV checks that the files are named by list and day, and that one of the shown
// columns can be imported again.
func TestLists_CSV(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	name := func(base string) string {
		return `attachment; filename=` + base + "-" + h.clock.Now().UTC().Format(time.DateOnly) + ".csv"
	}
	for path, want := range map[string]string{"/risks.csv": "risks", "/roadmap/milestones.csv": "roadmap-milestones", "/vendors/inventory.csv?status=active": "vendors-inventory"} {
		if r := c.get(path); r.status != 200 || r.header.Get("Content-Disposition") != name(want) {
			t.Errorf("%s: got %d, %q", path, r.status, r.header.Get("Content-Disposition"))
		}
	}
	page := c.get("/risks?severity=HIGH&sort=target_date&columns=title,owner_name,target_date")
	link := regexp.MustCompile(`<a class="item" href="([^"]*only=shown[^"]*)">Shown columns`).FindStringSubmatch(page.body)
	if link == nil {
		t.Fatalf("no link in\n%.3000s", page.body)
	}
	sheet := c.get(html.UnescapeString(link[1]))
	rows, err := csv.NewReader(strings.NewReader(sheet.body)).ReadAll()
	if err != nil || len(rows) < 5 {
		t.Fatal(err, sheet.body)
	}
	if got := strings.Join(rows[0], " "); got != "risk_id description owner_name target_date title" {
		t.Errorf("got columns %s", got)
	}
	due := slices.Index(rows[0], "target_date")
	if !slices.IsSortedFunc(rows[1:], func(a, b []string) int {
		if (a[due] == "") != (b[due] == "") {
			return strings.Compare(b[due], a[due])
		}
		return strings.Compare(a[due], b[due])
	}) {
		t.Errorf("the file is not in the order of the list:\n%s", sheet.body)
	}
	rows[1][slices.Index(rows[0], "owner_name")] = "Somebody else"
	var changed strings.Builder
	if err := csv.NewWriter(&changed).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	preview := c.upload("/import", oneFile("risks.csv", changed.String()), "type", "risk")
	c.expect(c.get(preview.header.Get("Location")), 200, "risks.csv can be imported", "Changed records", "Somebody else")
}
