package db_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/dashboard"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// demo opens a data file with the demonstration organisation.
func demo(t testing.TB) (*db.DB, db.Organisation) {
	t.Helper()
	store := open(t, testdb.DemoFile(t))
	return store, testdb.DefaultOrg(t, store)
}

// browsableTypes returns the types of records that pages list.
func browsableTypes() []string {
	return slices.DeleteFunc(resource.Types(), func(object string) bool { return resource.Find(object).Sorts == nil })
}

func browse(t testing.TB, store *db.DB, org db.Organisation, object string, q dashboard.BrowseQuery) dashboard.BrowsePage {
	t.Helper()
	page, err := dashboard.Browse(t.Context(), store, org, object, q)
	if err != nil {
		t.Fatalf("%s %+v: %v", object, q, err)
	}
	return page
}

// ids returns the ids of records.
func ids(t testing.TB, records [][]byte) []string {
	t.Helper()
	list := make([]string, len(records))
	for i, text := range records {
		var record struct{ ID string }
		if err := json.Unmarshal(text, &record); err != nil {
			t.Fatal(err)
		}
		list[i] = record.ID
	}
	return list
}

// allIDs returns the ids of all records that a query finds, as an export does.
func allIDs(t testing.TB, store *db.DB, org db.Organisation, object string, q dashboard.BrowseQuery) []string {
	t.Helper()
	var all [][]byte
	err := dashboard.EachBrowsed(t.Context(), store, org, object, q, func(record []byte) error {
		all = append(all, record)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids(t, all)
}

// TestBrowse_Pages reads the pages of each type in each order to the end and back. Every
// record occurs once, in the same order.
func TestBrowse_Pages(t *testing.T) {
	t.Parallel()
	store, org := demo(t)
	types := browsableTypes()
	if len(types) < 13 {
		t.Fatalf("got types %v, want 13 or more", types)
	}
	for _, object := range types {
		sorts := []string{""}
		for _, name := range resource.Find(object).SortNames() {
			sorts = append(sorts, name, "-"+name)
		}
		all := allIDs(t, store, org, object, dashboard.BrowseQuery{})
		slices.Sort(all)
		for _, sort := range sorts {
			want := allIDs(t, store, org, object, dashboard.BrowseQuery{Sort: sort})
			if same := slices.Sorted(slices.Values(want)); !slices.Equal(all, same) || len(all) == 0 {
				t.Errorf("%s by %q: got %d records, want %d", object, sort, len(want), len(all))
			}
			var forward, back []string
			limit := max(2, len(all)/4)
			page := browse(t, store, org, object, dashboard.BrowseQuery{Sort: sort, Limit: limit})
			if page.Previous != "" || page.Total != len(all) || page.More {
				t.Errorf("%s by %q: got a first page with previous %q, total %d, more %v", object, sort, page.Previous, page.Total, page.More)
			}
			forward = append(forward, ids(t, page.Records)...)
			for page.Next != "" {
				page = browse(t, store, org, object, dashboard.BrowseQuery{Sort: sort, Limit: limit, Cursor: page.Next})
				forward = append(forward, ids(t, page.Records)...)
			}
			back = ids(t, page.Records)
			for page.Previous != "" {
				page = browse(t, store, org, object, dashboard.BrowseQuery{Sort: sort, Limit: len(page.Records), Cursor: page.Previous})
				if found := ids(t, page.Records); len(found) > 0 && !slices.Contains(back, found[0]) {
					back = append(found, back...)
				} else if page.Previous != "" {
					t.Fatalf("%s by %q: got %v again on a page back", object, sort, found)
				} else { // the first page again, with all its records
					for _, id := range slices.Backward(found) {
						if !slices.Contains(back, id) {
							back = append([]string{id}, back...)
						}
					}
				}
			}
			if !slices.Equal(forward, want) || !slices.Equal(back, want) {
				t.Errorf("%s by %q:\ngot forward %v\ngot back    %v\nwant        %v", object, sort, forward, back, want)
			}
		}
	}
}

// TestBrowse_Orders compares orders of risks with the values of the records.
func TestBrowse_Orders(t *testing.T) {
	t.Parallel()
	store, org := demo(t)
	rank := []string{"", "LOW", "MEDIUM", "HIGH", "CRITICAL"}
	text := func(r db.Record, member string) string { s, _ := r[member].(string); return s }
	number := func(r db.Record, member string) float64 {
		f, ok := r[member].(float64)
		if !ok {
			return -1e308
		}
		return f
	}
	for sort, compare := range map[string]func(a, b db.Record) int{
		"":      func(a, b db.Record) int { return -strings.Compare(text(a, "created_at"), text(b, "created_at")) },
		"title": func(a, b db.Record) int { return strings.Compare(folded(text(a, "title")), folded(text(b, "title"))) },
		"-severity": func(a, b db.Record) int {
			return slices.Index(rank, text(b, "severity")) - slices.Index(rank, text(a, "severity"))
		},
		"target_date": func(a, b db.Record) int { // a risk without one comes last
			if (text(a, "target_date") == "") != (text(b, "target_date") == "") {
				return strings.Compare(text(b, "target_date"), text(a, "target_date"))
			}
			return strings.Compare(text(a, "target_date"), text(b, "target_date"))
		},
		"-financial_exposure_max": func(a, b db.Record) int {
			return -cmp.Compare(number(a, "financial_exposure_max"), number(b, "financial_exposure_max"))
		},
	} {
		var last db.Record
		for _, raw := range browse(t, store, org, "risk", dashboard.BrowseQuery{Sort: sort, Limit: 200}).Records {
			var record db.Record
			if err := json.Unmarshal(raw, &record); err != nil {
				t.Fatal(err)
			}
			if last != nil && compare(last, record) > 0 {
				t.Errorf("by %q: %v comes before %v", sort, last, record)
			}
			last = record
		}
	}
}

// folded returns the part of a text that determines its position in a sorted list.
func folded(s string) string {
	runes := []rune(s)
	return strings.ToLower(string(runes[:min(len(runes), 60)]))
}

// TestBrowse_Finds checks filters and words.
func TestBrowse_Finds(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	org := testdb.DefaultOrg(t, store)
	for i, record := range []db.Record{
		{"title": "Discount of 100% given", "severity": "HIGH", "status": "Open", "owner_name": "Ada"},
		{"title": "Prompt injection", "description": "Customers' mails hold instructions.", "severity": "HIGH", "status": "InProgress"},
		{"title": `Back\slash and under_score`, "severity": "LOW", "status": "Closed", "likelihood": "RARE"},
		{"title": "Überwachung in GRÖSSE", "severity": "LOW", "status": "Open", "mitigation_action": "prompt reviews"},
		{"title": nil, "severity": nil, "description": "Nameless.", "status": "Closed", "likelihood": "RARE"},
	} {
		record["risk_id"] = fmt.Sprint(i)
		if record["description"] == nil {
			record["description"] = "Nothing to find here."
		}
		put(t, store, "risk", 1, func(int) db.Record { return record })
	}
	for _, row := range []struct {
		words, filters, want string
	}{
		{"", "", "0 1 2 3 4"},
		{"100%", "", "0"},
		{"%", "", "0"},
		{"_", "", "2"},
		{`\`, "", "2"},
		{"PROMPT", "", "1 3"},
		{"prompt reviews", "", "3"},
		{"prompt nothing", "", "3"},
		{"mails customers' injection", "", "1"},
		{"ada", "", "0"},
		{"überwachung", "", "3"},
		{"ÜBERWACHUNG", "", "3"},
		{"grösse", "", "3"},
		{"ß", "", ""},
		{"nameless", "", "4"},
		{"unobtainium", "", ""},
		{"'", "", "1"},
		{"", "severity=HIGH", "0 1"},
		{"", "status=Open,InProgress", "0 1 3"},
		{"", "severity=LOW status=Open,InProgress", "3"},
		{"", "likelihood=RARE severity=LOW", "2"},
		{"prompt", "status=Open,Closed", "3"},
		{"", "status=Mitigated", ""},
		{"", "owner_name~DA", "0"},
		{"", "owner_name~a%", ""},
		{"prompt", "owner_name~ada", ""},
	} {
		q := dashboard.BrowseQuery{Limit: 10, Words: strings.Fields(row.words), Filters: map[string][]string{}, Texts: map[string]string{}}
		for _, filter := range strings.Fields(row.filters) {
			name, values, isExact := strings.Cut(filter, "=")
			if isExact {
				q.Filters[name] = strings.Split(values, ",")
			} else {
				name, values, _ = strings.Cut(filter, "~")
				q.Texts[name] = values
			}
		}
		for _, sort := range []string{"risk_id", "-updated_at", ""} {
			q.Sort = sort
			page := browse(t, store, org, "risk", q)
			var found []string
			for _, raw := range page.Records {
				var record struct {
					RiskID string `json:"risk_id"`
				}
				if err := json.Unmarshal(raw, &record); err != nil {
					t.Fatal(err)
				}
				found = append(found, record.RiskID)
			}
			slices.Sort(found)
			if got := strings.Join(found, " "); got != row.want || page.Total != len(found) {
				t.Errorf("%q by %q in the order %q: got %q, total %d, want %q", row.words, row.filters, sort, got, page.Total, row.want)
			}
		}
	}
}

// TestBrowse_Many checks that a search with more results than are sorted in memory
// still has pages, and that counting ends at a limit.
func TestBrowse_Many(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store := open(t, path)
	org := testdb.DefaultOrg(t, store)
	testkit.ExecSQL(t, path, fmt.Sprintf(`INSERT INTO risks (org_id, id, risk_id, title, description, severity, likelihood, created_at, updated_at)
		WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT 1, printf('%%05d', i), i, 'Risk ' || i, 'number ' || i, iif(i %% 7 < 2, 'HIGH', 'LOW'),
			iif(i %% 5 < 2, 'RARE', 'LIKELY'), printf('2026-03-%%02d', i %% 28), '2026-04-01' FROM n`, dashboard.CountedRecords+50))
	for _, row := range []struct {
		q     dashboard.BrowseQuery
		total int
		more  bool
	}{
		{dashboard.BrowseQuery{}, dashboard.CountedRecords, true},
		{dashboard.BrowseQuery{Words: []string{"risk"}}, dashboard.CountedRecords, true},
		{dashboard.BrowseQuery{Words: []string{"7"}, Sort: "title"}, 3444, false}, // too many to sort in memory
		{dashboard.BrowseQuery{Words: []string{"number", "77"}, Sort: "-title"}, 280, false},
		{dashboard.BrowseQuery{Filters: map[string][]string{"severity": {"HIGH"}}, Sort: "likelihood"}, 2871, false},
	} {
		row.q.Limit = 400
		want := ids(t, browse(t, store, org, "risk", row.q).Records)
		row.q.Limit = 100
		page := browse(t, store, org, "risk", row.q)
		if page.Total != row.total || page.More != row.more {
			t.Errorf("%+v: got total %d, more %v, want %d, %v", row.q, page.Total, page.More, row.total, row.more)
		}
		got := ids(t, page.Records)
		for len(got) < len(want) {
			row.q.Cursor = page.Next
			page = browse(t, store, org, "risk", row.q)
			got = append(got, ids(t, page.Records)...)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", row.q, diff)
		}
		row.q.Cursor = page.Previous
		before := len(want) - len(page.Records)
		if diff := gocmp.Diff(want[before-100:before], ids(t, browse(t, store, org, "risk", row.q).Records)); diff != "" {
			t.Errorf("%+v back (-want +got):\n%s", row.q, diff)
		}
	}
}

// TestBrowse_Stable checks that new records neither repeat nor hide others on the next
// pages. The way back to the start has them.
func TestBrowse_Stable(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	org := testdb.DefaultOrg(t, store)
	risk := func(day, n int) {
		put(t, store, "risk", n, func(i int) db.Record {
			return db.Record{"risk_id": fmt.Sprintf("%d-%d", day, i), "description": "d", "created_at": fmt.Sprintf("2026-03-%02dT00:00:00.000Z", day)}
		})
	}
	risk(1, 3)
	risk(2, 3)
	first := browse(t, store, org, "risk", dashboard.BrowseQuery{Limit: 3})
	risk(3, 2)
	second := browse(t, store, org, "risk", dashboard.BrowseQuery{Limit: 3, Cursor: first.Next})
	if all := slices.Concat(ids(t, first.Records), ids(t, second.Records)); len(slices.Compact(slices.Sorted(slices.Values(all)))) != 6 || second.Next != "" {
		t.Errorf("two pages of three: got %v, next %q", all, second.Next)
	}
	back := browse(t, store, org, "risk", dashboard.BrowseQuery{Limit: 3, Cursor: second.Previous})
	if diff := gocmp.Diff(ids(t, first.Records), ids(t, back.Records)); diff != "" || back.Previous == "" {
		t.Errorf("back (-first +back), previous %q:\n%s", back.Previous, diff)
	}
	start := browse(t, store, org, "risk", dashboard.BrowseQuery{Limit: 3, Cursor: back.Previous})
	if diff := gocmp.Diff(ids(t, browse(t, store, org, "risk", dashboard.BrowseQuery{Limit: 3}).Records), ids(t, start.Records)); diff != "" || start.Previous != "" {
		t.Errorf("at the start (-want +got), previous %q:\n%s", start.Previous, diff)
	}
}

// TestBrowse_Refuses checks cursors of other lists, and unknown orders, filters and types.
func TestBrowse_Refuses(t *testing.T) {
	t.Parallel()
	store, org := demo(t)
	other, err := store.Orgs.Create(t.Context(), testdb.Operator(t, store), "other", db.Enterprise)
	if err != nil {
		t.Fatal(err)
	}
	next := browse(t, store, org, "risk", dashboard.BrowseQuery{Limit: 3, Sort: "title"}).Next
	api, err := store.List(t.Context(), org, resource.Risk, db.ListQuery{Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		org    db.Organisation
		object string
		q      dashboard.BrowseQuery
		code   db.Code
		param  string
	}{
		{org, "risk", dashboard.BrowseQuery{Cursor: next}, db.InvalidCursor, "cursor"},
		{org, "risk", dashboard.BrowseQuery{Cursor: next, Sort: "-title"}, db.InvalidCursor, "cursor"},
		{org, "milestone", dashboard.BrowseQuery{Cursor: next, Sort: "title"}, db.InvalidCursor, "cursor"},
		{other, "risk", dashboard.BrowseQuery{Cursor: next, Sort: "title"}, db.InvalidCursor, "cursor"},
		{org, "risk", dashboard.BrowseQuery{Cursor: api.Next}, db.InvalidCursor, "cursor"},
		{org, "risk", dashboard.BrowseQuery{Cursor: next + "A", Sort: "title"}, db.InvalidCursor, "cursor"},
		{org, "risk", dashboard.BrowseQuery{Sort: "description"}, db.Invalid, "sort"},
		{org, "risk", dashboard.BrowseQuery{Sort: "--title"}, db.Invalid, "sort"},
		{org, "risk", dashboard.BrowseQuery{Sort: "title; DROP TABLE risks"}, db.Invalid, "sort"},
		{org, "risk", dashboard.BrowseQuery{Filters: map[string][]string{"org_id": {"2"}}}, db.Invalid, "org_id"},
		{org, "risk", dashboard.BrowseQuery{Filters: map[string][]string{"regime_id": {"x"}}}, db.Invalid, "regime_id"},
	} {
		row.q.Limit = 3
		_, err := dashboard.Browse(t.Context(), store, row.org, row.object, row.q)
		if known, _ := err.(*db.Error); known == nil || known.Code != row.code || known.Param != row.param { //nolint:errorlint // not wrapped
			t.Errorf("%s %+v: got %v, want code %d of %s", row.object, row.q, err, row.code, row.param)
		}
	}
	if page := browse(t, store, other, "risk", dashboard.BrowseQuery{Limit: 3}); len(page.Records) != 0 || page.Total != 0 || page.Next != "" {
		t.Errorf("another organisation: got %+v, want no records", page)
	}
	for _, object := range []string{"kpi_checkin", "webhook_subscription", "x"} {
		if _, err := dashboard.Browse(t.Context(), store, org, object, dashboard.BrowseQuery{Limit: 3}); err == nil {
			t.Errorf("%s: got no error", object)
		}
	}
	id := allIDs(t, store, org, "risk", dashboard.BrowseQuery{})[0]
	if _, err := store.Record(t.Context(), other.Org, "risk", id); !db.Is(err, db.NotFound) {
		t.Errorf("a record of another organisation: got %v, want NotFound", err)
	}
}
