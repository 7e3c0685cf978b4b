package db

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestPlans pins how SQLite finds the rows of each list: by every combination
// of its filters, with and without a cursor, through an index whose order is
// the list's. Only updated_since may sort.
func TestPlans(t *testing.T) {
	t.Parallel()
	d := opened(t)
	org, err := d.Organisation(t.Context(), DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Collection{&Scores, &Risks, &Signals, &Milestones, &Obligations, &Vendors, &TalentGaps, &Incidents, &Kpis} {
		for _, filters := range subsets(sortedKeys(c.Filters)) {
			for _, cursor := range []string{"", d.seal(c.Name, org, "2026-10-01T12:00:00.000Z", "x")} {
				for _, since := range []struct {
					at  string
					few bool
				}{{"", false}, {"2026-10-01T12:00:00.000Z", false}, {"2026-10-01T12:00:00.000Z", true}} {
					query, args, err := d.listQuery(org, c, ListQuery{Limit: 25, Cursor: cursor, UpdatedSince: since.at, Filters: filters}, since.few)
					if err != nil {
						t.Fatal(err)
					}
					plan := explain(t, d, query, args)
					if !served.MatchString(plan) || strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") && !since.few {
						t.Errorf("%s by %v, cursor %v, since %q, few %v:\n%s", c.Name, filters, cursor != "", since.at, since.few, plan)
					}
				}
			}
		}
	}
}

var served = regexp.MustCompile(`SEARCH \w+ USING INDEX \w+ \(org_id=\?`)

// subsets are all choices of some of the names, each with a value.
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

// TestInserts pins that a new row makes no table of its own on the way, as a
// CHECK with IN and more than two values does, and RETURNING.
func TestInserts(t *testing.T) {
	t.Parallel()
	d := opened(t)
	for table, columns := range d.columns {
		if strings.HasPrefix(table, "sqlite_") {
			continue
		}
		insert := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
		rows, err := d.read.QueryContext(t.Context(), "EXPLAIN "+insert, make([]any, len(columns))...)
		if err != nil {
			t.Fatal(err)
		}
		err = eachRow(rows, func(row scanner) error {
			var operation string
			var other any
			err := row.Scan(&other, &operation, &other, &other, &other, &other, &other, &other)
			if operation == "OpenEphemeral" {
				t.Errorf("a new row of %s makes a table", table)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func explain(t *testing.T, d *DB, query string, args []any) string {
	t.Helper()
	rows, err := d.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

// TestOtherPlans pins the reads that every request makes.
func TestOtherPlans(t *testing.T) {
	t.Parallel()
	d := opened(t)
	for name, test := range map[string]struct {
		query string
		args  []any
	}{
		"a page of the audit log": {auditPage, []any{1, 0, "", "~", 101}},
		"a key by its id":         {storedKeyQuery + "k.id = ?", []any{"x"}},
		"keys by their prefix":    {storedKeyQuery + "k.prefix = ?", []any{"x"}},
		"a session by its token":  {sessionQuery, []any{[]byte("x"), "", ""}},
	} {
		plan := explain(t, d, test.query, test.args)
		if strings.Contains(plan, "SCAN ") || strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, "SEARCH") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}
