package db

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"govsvc/db/audit"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
)

// budgets make lists of sixty rows choose each way to read them.
var budgets = map[string]budget{
	"usual":                 usual,
	"sorted":                {few: 1000, passed: 1},
	"walked":                {passed: 1000},
	"walked far":            {passed: 1},
	"walked then sorted":    {few: 2, passed: 10, many: 20},
	"walked a bit, sorted":  {passed: 1, many: 1000},
	"sorted at some length": {few: 5, passed: 3, many: 8},
}

// TestListSince reads the pages of each list by each filter. The rows that were changed
// since an instant are at one end, in the middle or everywhere. Each way to read a list
// finds the rows that a scan finds.
func TestListSince(t *testing.T) {
	t.Parallel()
	for _, c := range collections {
		t.Run(c.List.Name, func(t *testing.T) {
			t.Parallel()
			d, org := opened(t)
			putMany(t, d, org, c)
			for place, lies := range places {
				markChanged(t, d, c, lies)
				for _, filters := range chosen(c) {
					want := since(t, d, c, filters)
					for name, b := range budgets {
						for _, limit := range []int{1, 7, 100} {
							if limit == 1 && len(want) > 20 {
								continue // many pages
							}
							got := readPages(t, d, org, c, ListQuery{Limit: limit, Filters: filters}, b)
							if diff := gocmp.Diff(want, got); diff != "" {
								t.Fatalf("changed %s, by %v, %s, %d a page (-want +got):\n%s", place, filters, name, limit, diff)
							}
						}
					}
				}
			}
		})
	}
}

const (
	before = "2026-09-01T00:00:00.000Z" // changed too long ago
	edge   = "2026-09-02T00:00:00.000Z" // changed exactly at the requested instant
	after  = "2026-09-03T00:00:00.000Z"
)

// places decide which rows of a list were changed, by number.
var places = map[string]func(n, all int) bool{
	"nowhere":        func(_, _ int) bool { return false },
	"everywhere":     func(_, _ int) bool { return true },
	"at the head":    func(n, all int) bool { return n < all/6 },
	"in the middle":  func(n, all int) bool { return n > all/3 && n < all/2 },
	"at the far end": func(n, all int) bool { return n > all-all/4 },
	"last":           func(n, all int) bool { return n == all-1 },
	"all over":       func(n, _ int) bool { return n%9 == 4 },
}

// putMany puts sixty rows, some of them created at the same instant. It also puts rows that
// are in the table but not in the list.
func putMany(t *testing.T, d *DB, org Organisation, c *storedResource) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	records := []Record{
		{"object": "roadmap", "version_number": json.Number("1"), "generated_at": before},
		{"object": "roadmap", "version_number": json.Number("2"), "generated_at": before},
	}
	for n := range 60 {
		r := Record{}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(rows[c.List.Name], "#", fmt.Sprintf("%03d", (n*37)%60))), &r); err != nil {
			t.Fatal(err)
		}
		for parameter, values := range filterValues[c.List.Name] {
			r[c.List.Filters[parameter]] = values[random.IntN(len(values))]
		}
		r["created_at"] = testkit.Start.Add(time.Duration(random.IntN(12)) * time.Hour).Format(time.RFC3339Nano)
		if c == stored(resource.Assessment) {
			r["completed_at"] = testkit.Start.Add(time.Duration(random.IntN(1<<20)) * time.Second).Format(time.RFC3339Nano)
		}
		records = append(records, r)
		unlisted := Record{}
		for member, value := range r {
			unlisted[member] = value
		}
		switch c {
		case signals:
			unlisted["as_of"] = "2020-01-01T00:00:00Z" // superseded
		case milestones:
			unlisted["roadmap_version"] = json.Number("1")
		default:
			continue
		}
		records = append(records, unlisted)
	}
	err := d.Write(t.Context(), Actor{Org: org.Org, ID: "system"}, func(tx *Tx) error {
		for _, r := range records {
			object := r["object"].(string)
			delete(r, "object")
			if _, err := tx.Put(object, r); err != nil {
				return fmt.Errorf("%v: %w", r, err)
			}
		}
		return tx.Audit(audit.Event{Action: "test", Category: audit.DataChange, Severity: audit.SeverityWrite})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rows has a row of each list. # is replaced by a number.
var rows = map[string]string{
	"scores":      `{"object":"assessment","verdict":"CRISIS","methodology_version":"1","overall_score":null}`,
	"risks":       `{"object":"risk","risk_id":"R-#","description":"d","likelihood":"LIKELY"}`,
	"signals":     `{"object":"signal","signal_type":"S \"#\u001f","module_id":"m","as_of":"2026-01-01T00:00:00Z"}`,
	"milestones":  `{"object":"milestone","milestone_key":"M-#","title":"t","phase":"p","sequence":1,"rag_status":"RED","owner_role":"o"}`,
	"obligations": `{"object":"obligation","obligation_key":"O-#","regime_name":"r","jurisdiction":"j","title":"t","priority_band":"LOW"}`,
	"vendors":     `{"object":"vendor","vendor_key":"V-#","vendor_name":"v","category":"c","initial_risk_band":"LOW"}`,
	"talent_gaps": `{"object":"talent_gap","gap_key":"G-#","role_title":"r","function_area":"f","priority_band":"LOW","recommended_path":"buy","headcount_needed":1}`,
	"incidents":   `{"object":"incident","incident_key":"I-#","title":"t","incident_type":"other"}`,
	"kpis":        `{"object":"kpi","code":"K-#","statement":"s","metric_name":"m","unit":"u","direction":"increase","measurement_frequency":"weekly","target_value":1}`,
}

// filterValues are the values of the rows for each filter.
var filterValues = map[string]map[string][]string{
	"risks":       {"severity": {"HIGH", "LOW"}, "status": {"Open", "Closed", "Accepted"}},
	"milestones":  {"status": {"blocked", "completed"}},
	"obligations": {"regime_id": {"a", "b"}, "status": {"at_risk", "compliant"}},
	"vendors":     {"status": {"active", "exited"}},
	"talent_gaps": {"status": {"open", "closed"}},
	"incidents":   {"severity": {"low", "high"}, "status": {"open", "closed"}},
	"kpis":        {"status": {"active", "draft"}},
}

// chosen returns all combinations of filters, with the first value of each.
func chosen(c *storedResource) []map[string]string {
	values := map[string]string{"type": "S \"007\x1f", "code": "K-007"}
	for parameter, some := range filterValues[c.List.Name] {
		values[parameter] = some[0]
	}
	all := subsets(sortedKeys(c.List.Filters))
	for _, filters := range all {
		for parameter := range filters {
			filters[parameter] = values[parameter]
		}
	}
	return all
}

// line is a row of a list.
type line struct {
	seq                int
	order, id, updated string
	filtered           map[string]string
}

// lines returns the rows of a list in its order, sorted by Go.
func lines(t *testing.T, d *DB, c *storedResource) []line {
	t.Helper()
	columns := "seq, " + c.List.OrderBy + ", id, updated_at"
	parameters := sortedKeys(c.List.Filters)
	for _, parameter := range parameters {
		columns += ", " + c.List.Filters[parameter]
	}
	query := "SELECT " + columns + " FROM " + c.Table
	switch c {
	case signals:
		query += " WHERE current = 1"
	case milestones:
		query += " WHERE roadmap_id = (SELECT id FROM roadmaps WHERE version_number = 2)"
	}
	var all []line
	if err := d.Each(t.Context(), func(row Scanner) error {
		l, values := line{filtered: map[string]string{}}, make([]string, len(parameters))
		into := []any{&l.seq, &l.order, &l.id, &l.updated}
		for i := range values {
			into = append(into, &values[i])
		}
		err := row.Scan(into...)
		for i, parameter := range parameters {
			l.filtered[parameter] = values[i]
		}
		all = append(all, l)
		return err
	}, query); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b line) int {
		if c.List.Ascending {
			return cmp.Compare(a.order, b.order)
		}
		return cmp.Or(cmp.Compare(b.order, a.order), cmp.Compare(b.id, a.id))
	})
	if len(all) != 60 {
		t.Fatalf("got %d rows, want 60", len(all))
	}
	return all
}

// markChanged sets the time of change of the rows of a list: a recent one for those
// that lies selects and for unlisted rows, an old one for the others.
func markChanged(t *testing.T, d *DB, c *storedResource, lies func(n, all int) bool) {
	t.Helper()
	all := lines(t, d, c)
	file, err := sql.Open("sqlite", "file:"+d.File.Path()+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	run := func(statement string, args ...any) {
		if _, err := file.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	run("UPDATE "+c.Table+" SET updated_at = ?", after)
	for n, l := range all {
		switch {
		case !lies(n, len(all)):
			run("UPDATE "+c.Table+" SET updated_at = ? WHERE seq = ?", before, l.seq)
		case n%2 == 0:
			run("UPDATE "+c.Table+" SET updated_at = ? WHERE seq = ?", edge, l.seq)
		}
	}
}

// since returns the ids of the rows that match the filters and were changed since the edge.
func since(t *testing.T, d *DB, c *storedResource, filters map[string]string) []string {
	t.Helper()
	found := []string{}
	for _, l := range lines(t, d, c) {
		fits := l.updated >= edge
		for parameter, value := range filters {
			fits = fits && l.filtered[parameter] == value
		}
		if fits {
			found = append(found, l.id)
		}
	}
	return found
}

// readPages reads all pages of a query since the edge, within a budget.
func readPages(t *testing.T, d *DB, org Organisation, c *storedResource, q ListQuery, b budget) []string {
	t.Helper()
	found := []string{}
	for {
		l, err := newListing(d, org, c, q)
		if err != nil {
			t.Fatal(err)
		}
		page, err := l.since(t.Context(), edge, b)
		if err != nil {
			t.Fatal(err)
		}
		var resources []struct{ ID string }
		if err := json.Unmarshal([]byte("["+string(page.Rows)+"]"), &resources); err != nil {
			t.Fatal(err, string(page.Rows))
		}
		if page.HasMore != (page.Next != "") || len(resources) > q.Limit || page.HasMore && len(resources) < q.Limit {
			t.Fatalf("got %d of %d rows, more %v, next %q", len(resources), q.Limit, page.HasMore, page.Next)
		}
		for _, r := range resources {
			found = append(found, r.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return found
		}
	}
}
