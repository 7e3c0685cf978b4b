package db_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/dashboard"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// members returns one member of each record that a query finds, joined in the order of
// the page.
func members(t *testing.T, store *db.DB, org db.Organisation, object, member string, q dashboard.BrowseQuery) string {
	t.Helper()
	q.Limit = 100
	var found []string
	for _, raw := range browse(t, store, org, object, q).Records {
		record := map[string]any{}
		if err := json.Unmarshal(raw, &record); err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprint(record[member]))
	}
	return strings.Join(found, " ")
}

// TestBrowse_EmptyValuesLast checks that records without a value come last in each order
// and direction.
func TestBrowse_EmptyValuesLast(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	org := testdb.DefaultOrg(t, store)
	put(t, store, "risk", 3, func(i int) db.Record {
		record := db.Record{"risk_id": fmt.Sprint(i), "description": "D", "status": "Open"}
		if i > 0 {
			record["title"], record["severity"] = fmt.Sprint("Title ", i), []any{nil, "LOW", "HIGH"}[i]
			record["target_date"], record["financial_exposure_max"] = fmt.Sprintf("2026-12-0%d", i), json.Number(fmt.Sprint(i))
		}
		return record
	})
	for _, sort := range []string{"title", "severity", "target_date", "financial_exposure_max"} {
		for sort, want := range map[string]string{sort: "1 2 0", "-" + sort: "2 1 0"} {
			if got := members(t, store, org, "risk", "risk_id", dashboard.BrowseQuery{Sort: sort}); got != want {
				t.Errorf("by %s: got %s, want %s", sort, got, want)
			}
			var pages []string
			for page := (dashboard.BrowsePage{Next: " "}); page.Next != ""; {
				page = browse(t, store, org, "risk", dashboard.BrowseQuery{Sort: sort, Limit: 1, Cursor: strings.TrimSpace(page.Next)})
				pages = append(pages, ids(t, page.Records)...)
			}
			if all := allIDs(t, store, org, "risk", dashboard.BrowseQuery{Sort: sort}); !slices.Equal(pages, all) {
				t.Errorf("by %s: got pages %v, want %v", sort, pages, all)
			}
		}
	}
}

// TestBrowse_Due checks the filters by the deadline of open records.
func TestBrowse_Due(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	store := testdb.Open(t, db.Options{Now: clock.Now})
	org := testdb.DefaultOrg(t, store)
	for i, due := range []any{"2026-11-21", "2026-11-22", "2026-11-29", "2026-11-30", "2026-12-22", "2026-12-23", nil} {
		for _, status := range []string{"Open", "Closed"} {
			put(t, store, "risk", 1, func(int) db.Record {
				return db.Record{"risk_id": fmt.Sprint(i, status), "description": "D", "status": status, "target_date": due}
			})
		}
	}
	for i, record := range []db.Record{
		{"notification_required": true, "notification_deadline": "2026-11-22T11:59:59.000Z"},
		{"notification_required": true, "notification_deadline": "2026-11-22T12:00:00.000Z"},
		{"notification_required": true, "notification_deadline": "2026-11-22T11:00:00.000Z", "notified_at": "2026-11-22T10:00:00.000Z"},
		{"notification_required": false, "notification_deadline": "2026-11-22T11:00:00.000Z"},
		{"notification_required": true, "notification_deadline": "2026-11-22T11:00:00.000Z", "status": "closed"},
	} {
		record["incident_key"], record["title"], record["severity"], record["incident_type"] = fmt.Sprint(i), "T", "low", "other"
		if record["status"] == nil {
			record["status"] = "resolved"
		}
		put(t, store, "incident", 1, func(int) db.Record { return record })
	}
	const day = 24 * time.Hour
	for _, row := range []struct {
		object, member string
		due            dashboard.Due
		want           string
	}{
		{"risk", "target_date", dashboard.Due{Overdue: true}, "2026-11-21"},
		{"risk", "target_date", dashboard.Due{Within: 7 * day}, "2026-11-22 2026-11-29"},
		{"risk", "target_date", dashboard.Due{Within: 30 * day}, "2026-11-22 2026-11-29 2026-11-30 2026-12-22"},
		{"risk", "target_date", dashboard.Due{None: true}, "<nil>"},
		{"incident", "incident_key", dashboard.Due{Overdue: true}, "0"},
		{"incident", "incident_key", dashboard.Due{Within: 7 * day}, "1"},
	} {
		sort := ""
		if row.object == "risk" {
			sort = "target_date"
		}
		if got := members(t, store, org, row.object, row.member, dashboard.BrowseQuery{Due: row.due, Sort: sort}); got != row.want {
			t.Errorf("%s %+v: got %s, want %s", row.object, row.due, got, row.want)
		}
	}
	if _, err := dashboard.Browse(t.Context(), store, org, "signal", dashboard.BrowseQuery{Due: dashboard.Due{None: true}, Limit: 1}); !db.Is(err, db.Invalid) {
		t.Errorf("a list without deadlines: got %v", err)
	}
}

// TestChoices checks the values that a filter offers, their bound and that a text that is
// no value finds the records that contain it.
func TestChoices(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	org := testdb.DefaultOrg(t, store)
	obligation := func(i int, regime, name, jurisdiction string) {
		put(t, store, "obligation", 1, func(int) db.Record {
			return db.Record{
				"obligation_key": fmt.Sprintf("o%02d", i), "regime_id": regime, "regime_name": name, "jurisdiction": jurisdiction, "title": "T",
				"priority_band": "LOW", "status": "compliant", "created_at": fmt.Sprintf("2026-01-%02dT00:00:00.000Z", 1+i%28),
			}
		})
	}
	obligation(0, "eu-ai-act", "AI Act", "EU")
	obligation(1, "eu-ai-act", "EU AI Act", "EU")
	obligation(2, "dora", "DORA", "EU, Norway")
	for _, row := range []struct {
		column string
		want   []dashboard.Choice
	}{
		{"regime_id", []dashboard.Choice{{Value: "dora", Name: "DORA"}, {Value: "eu-ai-act", Name: "EU AI Act"}}},
		{"jurisdiction", []dashboard.Choice{{Value: "EU", Name: "EU"}, {Value: "EU, Norway", Name: "EU, Norway"}}},
	} {
		got, more, err := dashboard.Choices(t.Context(), store, org, "obligation", row.column)
		if diff := cmp.Diff(row.want, got); diff != "" || more || err != nil {
			t.Errorf("%s: more %v, %v (-want +got):\n%s", row.column, more, err, diff)
		}
	}
	for text, want := range map[string]string{"EU": "o00 o01", "eu": "o00 o01 o02", "nor": "o02", "x": ""} {
		q := dashboard.BrowseQuery{Texts: map[string]string{"jurisdiction": text}, Sort: "obligation_key"}
		if got := members(t, store, org, "obligation", "obligation_key", q); got != want {
			t.Errorf("jurisdiction %q: got %q, want %q", text, got, want)
		}
	}
	for i := range dashboard.MaxChoices {
		obligation(10+i, fmt.Sprintf("r%02d", i), "R", "EU")
	}
	if got, more, err := dashboard.Choices(t.Context(), store, org, "obligation", "regime_id"); len(got) != dashboard.MaxChoices || !more || err != nil {
		t.Errorf("got %d choices, more %v, %v", len(got), more, err)
	}
	if got, more, err := dashboard.Choices(t.Context(), store, org, "obligation", "jurisdiction"); len(got) != 2 || more || err != nil {
		t.Errorf("got %d choices, more %v, %v", len(got), more, err)
	}
	if _, _, err := dashboard.Choices(t.Context(), store, org, "obligation", "title"); !db.Is(err, db.Invalid) {
		t.Errorf("choices of a member that is no filter: got %v", err)
	}
}
