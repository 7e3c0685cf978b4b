package db

import (
	"regexp"
	"strings"
	"testing"

	"govsvc/db/resource"
	"govsvc/internal/testkit"
)

// TestPlans checks that SQLite finds the rows of each list through an index in the order
// of the list, for every combination of its filters, with and without a cursor. Only rows
// found by the time of their change are sorted, by columns of their index.
func TestPlans(t *testing.T) {
	t.Parallel()
	d, org := opened(t)
	const instant = "2026-10-01T12:00:00.000Z"
	for _, c := range collections {
		for _, filters := range subsets(sortedKeys(c.List.Filters)) {
			for _, cursor := range []string{"", d.Cursors.Encode(c.List.Name, org, instant, "x")} {
				l, err := newListing(d, org, c, ListQuery{Limit: 25, Cursor: cursor, Filters: filters})
				if err != nil {
					t.Fatal(err)
				}
				check := func(statement string, plan string, good bool) {
					if !good || scanned.MatchString(plan) {
						t.Errorf("%s by %v, cursor %v, %s:\n%s", c.List.Name, filters, cursor != "", statement, plan)
					}
				}
				all := planOf(t, d)(l.all())
				check("all", all, served.MatchString(all) && !strings.Contains(all, "TEMP B-TREE"))
				along := planOf(t, d)(l.along(instant, 1))
				check("along", along, walked.MatchString(along) && !strings.Contains(along, "TEMP B-TREE"))
				found := planOf(t, d)(l.found(instant))
				check("found", found, changed.MatchString(found) && strings.Count(found, "TEMP B-TREE") <= 1)
				count := planOf(t, d)(l.count(instant, 1))
				check("count", count, changed.MatchString(count) && !strings.Contains(count, "TEMP B-TREE"))
			}
		}
	}
}

// collections are the lists of the data format that the API has.
var collections = func() (all []*storedResource) {
	for _, r := range resource.Records() {
		if r.List.Operation != "" {
			all = append(all, stored(r))
		}
	}
	return all
}()

var (
	served  = regexp.MustCompile(`SEARCH \w+ USING INDEX \w+ \(org_id=\?`)
	walked  = regexp.MustCompile(`CO-ROUTINE [^\n]*\nSEARCH \w+ USING (COVERING )?INDEX \w+ \(org_id=\?`)
	changed = regexp.MustCompile(`SEARCH \w+ USING COVERING INDEX \w+_by_updated \(org_id=\? (AND roadmap_id=\? )?AND updated_at>\?\)`)
	scanned = regexp.MustCompile(`SCAN [^(C]`) // a table, not what an inner query or nothing gave
)

func planOf(t *testing.T, d *DB) func(string, []any) string {
	return func(query string, args []any) string { return testkit.ExplainSQL(t, d.File.Path(), query, args...) }
}

// subsets returns all choices of some of the names, each with a value.
func subsets(names []string) []map[string]string {
	all := []map[string]string{{}}
	for _, name := range names {
		for _, known := range all[:len(all):len(all)] {
			more := map[string]string{name: "x"}
			for other := range known {
				more[other] = "x"
			}
			all = append(all, more)
		}
	}
	return all
}

// TestInserts checks that an insert makes no temporary table. RETURNING makes one, and so
// does a CHECK with IN and more than two values.
func TestInserts(t *testing.T) {
	t.Parallel()
	d, _ := opened(t)
	for table, columns := range d.columns {
		if strings.HasPrefix(table, "sqlite_") {
			continue
		}
		insert := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
		err := d.engine.Lookups.EachUncached(t.Context(), func(row Scanner) error {
			var operation string
			var other any
			err := row.Scan(&other, &operation, &other, &other, &other, &other, &other, &other)
			if operation == "OpenEphemeral" {
				t.Errorf("an insert into %s makes a temporary table", table)
			}
			return err
		}, "EXPLAIN "+insert, make([]any, len(columns))...)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestOtherPlans checks the reads that every request makes.
func TestOtherPlans(t *testing.T) {
	t.Parallel()
	d, _ := opened(t)
	testkit.CheckPlan(t, d.File.Path(), "SEARCH", auditPage, 1, 0, "", "~", 101)
	testkit.CheckPlan(t, d.File.Path(), "SEARCH", storedKeyQuery+"k.id = ?", "x")
	testkit.CheckPlan(t, d.File.Path(), "SEARCH", storedKeyQuery+"k.prefix = ?", "x")
}
