package dashboard_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/annotation"
	"govsvc/db/dashboard"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// put stores records in one transaction. Each is a type and its members as JSON.
func put(t *testing.T, store *db.DB, lines ...string) {
	t.Helper()
	err := store.Write(t.Context(), db.Actor{Org: 1, ID: "system"}, func(tx *db.Tx) error {
		for _, line := range lines {
			object, members, _ := strings.Cut(line, " ")
			record := db.Record{}
			if err := json.Unmarshal([]byte(members), &record); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
			if _, err := tx.Put(object, record); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
			if err := tx.AuditChange(object, "created", "", nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func kpi(code, frequency, asOf, status string) string {
	return fmt.Sprintf(`kpi {"code":%q,"statement":"s","metric_name":%q,"unit":"count","direction":"increase","target_value":5,`+
		`"current_value":%s,"current_as_of":%s,"measurement_frequency":%q,"status":%q,"created_at":"2026-08-12T10:00:00.000Z"}`,
		code, code, map[bool]string{true: "null", false: "1"}[asOf == "null"], asOf, frequency, status)
}

// attentionRecords are due at every side of the limits. The clock is at
// 2026-10-01T12:00:00Z.
var attentionRecords = []string{
	`incident {"incident_key":"I-1","title":"Clock overdue","severity":"high","status":"open","owner":"Ada","notification_required":true,"notification_deadline":"2026-10-01T11:59:00.000Z"}`,
	`incident {"incident_key":"I-2","title":"Clock running","severity":"low","status":"resolved","notification_required":true,"notification_deadline":"2026-10-01T12:01:00.000Z"}`,
	`incident {"incident_key":"I-3","title":"Notified","status":"open","notification_required":true,"notification_deadline":"2026-09-01T00:00:00.000Z","notified_at":"2026-08-31T00:00:00.000Z"}`,
	`incident {"incident_key":"I-4","title":"Closed","status":"closed","notification_required":true,"notification_deadline":"2026-09-01T00:00:00.000Z"}`,
	`risk {"risk_id":"R-1","title":"Yesterday","description":"d","severity":"CRITICAL","status":"Open","owner_name":"Ada","target_date":"2026-09-30"}`,
	`risk {"risk_id":"R-2","title":"Today","description":"d","status":"InProgress","owner_name":"Bob","target_date":"2026-10-01"}`,
	`risk {"risk_id":"R-3","title":" ","description":"d","status":"Open","owner_name":"","target_date":"2026-10-08"}`,
	`risk {"risk_id":"R-4","title":"In 8 days","description":"d","status":"Open","owner_name":"Ada","target_date":"2026-10-09"}`,
	`risk {"risk_id":"R-5","title":"In 30 days","description":"d","status":"Open","target_date":"2026-10-31"}`,
	`risk {"risk_id":"R-6","title":"In 31 days","description":"d","status":"Open","target_date":"2026-11-01"}`,
	`risk {"risk_id":"R-7","title":"Accepted","description":"d","status":"Accepted","target_date":"2026-09-01"}`,
	`risk {"risk_id":"R-8","title":"Without a date","description":"d","status":"Open"}`,
	`obligation {"obligation_key":"O-1","regime_id":"r","regime_name":"R","jurisdiction":"EU","title":"At risk","priority_band":"HIGH","status":"at_risk","owner_role":"Ada","target_date":"2026-09-30"}`,
	`obligation {"obligation_key":"O-2","regime_id":"r","regime_name":"R","jurisdiction":"EU","title":"Compliant","priority_band":"HIGH","status":"compliant","target_date":"2026-09-01"}`,
	`vendor {"vendor_key":"V-1","vendor_name":"Ends in 90 days","category":"c","initial_risk_band":"LOW","status":"active","renewal_owner_role":"Bob","contract_end":"2026-12-30"}`,
	`vendor {"vendor_key":"V-2","vendor_name":"Ends in 91 days","category":"c","initial_risk_band":"LOW","status":"active","contract_end":"2026-12-31"}`,
	`vendor {"vendor_key":"V-3","vendor_name":"Exited","category":"c","initial_risk_band":"LOW","status":"exited","contract_end":"2026-09-01"}`,
	`roadmap {"version_number":1,"generated_at":"2026-01-01T00:00:00.000Z"}`,
	`roadmap {"version_number":2,"generated_at":"2026-06-01T00:00:00.000Z"}`,
	`milestone {"roadmap_version":1,"milestone_key":"m","title":"Of version 1","phase":"p","sequence":1,"status":"in_progress","rag_status":"RED","owner_role":"Ada","target_date":"2026-09-01"}`,
	`milestone {"roadmap_version":2,"milestone_key":"m","title":"Of version 2","phase":"p","sequence":1,"status":"blocked","rag_status":"RED","owner_role":"Ada","target_date":"2026-09-01"}`,
	`talent_gap {"gap_key":"g","role_title":"Engineer","function_area":"a","headcount_needed":1,"priority_band":"HIGH","recommended_path":"buy","status":"open","owner_role":"Bob","target_date":"2026-10-15"}`,
	kpi("July", "monthly", `"2026-07-01T00:00:00.000Z"`, "active"), // August was due by 7 September
	kpi("August", "monthly", `"2026-08-01T00:00:00.000Z"`, "active"),
	kpi("September", "monthly", `"2026-09-01T00:00:00.000Z"`, "active"),
	kpi("Retired", "monthly", `"2026-01-01T00:00:00.000Z"`, "retired"),
}

func attentionStore(t *testing.T) (*db.DB, db.Organisation) {
	t.Helper()
	store := testdb.Open(t, db.Options{Now: testkit.NewClock(testkit.Start).Now})
	put(t, store, attentionRecords...)
	return store, testdb.DefaultOrg(t, store)
}

// TestReadAttention checks which records need attention and in which order, and that
// pages of every size show each of them once.
func TestReadAttention(t *testing.T) {
	t.Parallel()
	store, org := attentionStore(t)
	const all = "overdue Clock overdue, week Clock running, overdue Of version 2, overdue July, overdue Yesterday, overdue At risk, week Today, " +
		"week August, week R-3, month In 8 days, month Engineer, month In 30 days, quarter Ends in 90 days"
	for _, row := range []struct {
		name  string
		query dashboard.AttentionQuery
		want  string
	}{
		{"all", dashboard.AttentionQuery{}, all},
		{"overdue", dashboard.AttentionQuery{Urgency: dashboard.Overdue}, "overdue Clock overdue, overdue Of version 2, overdue July, overdue Yesterday, overdue At risk"},
		{"in 7 days", dashboard.AttentionQuery{Urgency: dashboard.DueInWeek}, "week Clock running, week Today, week August, week R-3"},
		{"in 30 days", dashboard.AttentionQuery{Urgency: dashboard.DueInMonth}, "month In 8 days, month Engineer, month In 30 days"},
		{"in 90 days", dashboard.AttentionQuery{Urgency: dashboard.DueInQuarter}, "quarter Ends in 90 days"},
		{"of an owner", dashboard.AttentionQuery{Owner: "Ada"}, "overdue Clock overdue, overdue Of version 2, overdue Yesterday, overdue At risk, month In 8 days"},
		{"without an owner", dashboard.AttentionQuery{Unowned: true}, "week Clock running, overdue July, week August, week R-3, month In 30 days"},
		{"of a type", dashboard.AttentionQuery{Types: []string{"vendor", "obligation"}}, "overdue At risk, quarter Ends in 90 days"},
		{"without incidents", dashboard.AttentionQuery{Without: []string{"incident", "risk"}, Owner: "Ada"}, "overdue Of version 2, overdue At risk"},
		{"unknown owner", dashboard.AttentionQuery{Owner: "Eve"}, ""},
	} {
		for limit := range 20 {
			q := row.query
			q.Limit = limit + 1
			var got []string
			for range 20 {
				page, err := dashboard.ReadAttention(t.Context(), store, org, "user", q)
				if err != nil {
					t.Fatal(err)
				}
				for _, item := range page.Items {
					got = append(got, string(item.Urgency)+" "+item.Name)
				}
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
			}
			if joined := strings.Join(got, ", "); joined != row.want {
				t.Fatalf("%s, %d on a page: got\n%s\nwant\n%s", row.name, q.Limit, joined, row.want)
			}
		}
	}
	page, err := dashboard.ReadAttention(t.Context(), store, org, "user", dashboard.AttentionQuery{Types: []string{"risk"}, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := page.Items[0]
	if got.Type != "risk" || got.ID == "" || got.Due != "2026-09-30" || got.Owner != "Ada" || got.Band != "CRITICAL" || got.Status != "Open" {
		t.Errorf("got the item %+v", got)
	}
	if _, err := dashboard.ReadAttention(t.Context(), store, org, "user", dashboard.AttentionQuery{Types: []string{"vendor"}, Limit: 1, Cursor: page.Next}); err == nil {
		t.Error("the cursor of another query was accepted")
	}
}

// TestCountAttention checks the counts of the overview and the owners to choose from.
func TestCountAttention(t *testing.T) {
	t.Parallel()
	store, org := attentionStore(t)
	owners := []dashboard.OwnerCount{{Name: "", Count: 5}, {Name: "Ada", Count: 5}, {Name: "Bob", Count: 3}}
	for _, row := range []struct {
		query  dashboard.AttentionQuery
		counts []int
		total  int
	}{
		{dashboard.AttentionQuery{}, []int{5, 4, 3, 1}, 13},
		{dashboard.AttentionQuery{Urgency: dashboard.DueInWeek, Limit: 1}, []int{5, 4, 3, 1}, 13},
		{dashboard.AttentionQuery{Owner: "Ada"}, []int{4, 0, 1, 0}, 5},
		{dashboard.AttentionQuery{Unowned: true}, []int{1, 3, 1, 0}, 5},
	} {
		got, err := dashboard.CountAttention(t.Context(), store, org, "user", row.query)
		if err != nil {
			t.Fatal(err)
		}
		var counts []int
		for _, urgency := range dashboard.Urgencies() {
			counts = append(counts, got.Counts[urgency])
		}
		if !slices.Equal(counts, row.counts) || got.Total != row.total || got.More {
			t.Errorf("%+v: got %+v, want %v and %d in total", row.query, got, row.counts, row.total)
		}
		if diff := cmp.Diff(owners, got.Owners); diff != "" {
			t.Errorf("%+v: owners (-want +got):\n%s", row.query, diff)
		}
	}
}

// TestAttention_Archived checks that archived records need no attention, and that the
// overview does not count them.
func TestAttention_Archived(t *testing.T) {
	t.Parallel()
	store, org := attentionStore(t)
	all := dashboard.AttentionQuery{Types: []string{"risk", "milestone"}, Limit: 50}
	before, err := dashboard.ReadAttention(t.Context(), store, org, "user", all)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range before.Items {
		of := annotation.Subject{Type: item.Type, ID: item.ID}
		if err := annotation.New(store).Archive(t.Context(), db.Actor{Org: 1, ID: "system"}, of, true); err != nil {
			t.Fatal(err)
		}
	}
	after, err := dashboard.ReadAttention(t.Context(), store, org, "user", all)
	summary, failed := dashboard.CountAttention(t.Context(), store, org, "user", all)
	if len(before.Items) < 5 || len(after.Items) != 0 || summary.Total != 0 || len(summary.Owners) != 0 || err != nil || failed != nil {
		t.Errorf("got %d tasks, then %d and %+v, %v, %v", len(before.Items), len(after.Items), summary, err, failed)
	}
	o, err := dashboard.ReadOverview(t.Context(), store, org, "user")
	if err != nil {
		t.Fatal(err)
	}
	open := 0
	for _, c := range o.Risks {
		open += c.Count
	}
	if open != 2 || len(o.Phases) != 0 { // in 31 days, and without a date
		t.Errorf("got %d open risks and the phases %+v, want 2 and none", open, o.Phases)
	}
}

// TestCountAttention_Bound checks that the counts of a large register say that there are
// more.
func TestCountAttention_Bound(t *testing.T) {
	t.Parallel()
	store, org := attentionStore(t)
	var lines []string
	for i := range dashboard.CountedAttention {
		lines = append(lines, fmt.Sprintf(`risk {"risk_id":"L-%d","description":"d","status":"Open","owner_name":"Ada","target_date":"2026-01-01"}`, i))
	}
	put(t, store, lines...)
	for owner, more := range map[string]bool{"": true, "Ada": true, "Bob": false} {
		got, err := dashboard.CountAttention(t.Context(), store, org, "user", dashboard.AttentionQuery{Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		if got.More != more || more && got.Types["risk"] != dashboard.CountedAttention+1 {
			t.Errorf("owner %q: got %d risks, more %v, want more %v", owner, got.Types["risk"], got.More, more)
		}
	}
}

// TestAttention_FollowsDescriptors checks that the query finds the records, and the due
// dates, that the descriptors name for records that the lists show.
func TestAttention_FollowsDescriptors(t *testing.T) {
	t.Parallel()
	store, org := attentionStore(t)
	n := 0
	for _, frequency := range []string{"weekly", "monthly", "quarterly", "annual"} {
		for _, asOf := range []string{"2025-09-29", "2025-12-31", "2026-01-01", "2026-02-28", "2026-03-31", "2026-05-03", "2026-05-04", "2026-09-06", "2026-09-20"} {
			n++
			put(t, store, kpi(fmt.Sprint("K-", n), frequency, `"`+asOf+`T00:00:00.000Z"`, "active"))
		}
		put(t, store, kpi("none "+frequency, frequency, "null", "active"))
	}
	want := map[string]string{}
	last := testkit.Start.AddDate(0, 0, 91).Format("2006-01-02")
	for _, of := range resource.Pages() {
		if of.Attention == nil {
			continue
		}
		end := testkit.Start.AddDate(0, 0, of.Attention.Days+1).Format("2006-01-02")
		page, err := dashboard.Browse(t.Context(), store, org, of.Type, dashboard.BrowseQuery{Limit: 200, Size: db.PageSize{Most: 1 << 20}})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range page.Records {
			record := map[string]any{}
			if err := json.Unmarshal(text, &record); err != nil {
				t.Fatal(err)
			}
			if due := of.DueOf(record); due != "" && due < min(end, last) {
				want[record["id"].(string)] = fmt.Sprint(due, resource.IsOverdue(due, testkit.Start))
			}
		}
	}
	page, err := dashboard.ReadAttention(t.Context(), store, org, "user", dashboard.AttentionQuery{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, item := range page.Items {
		got[item.ID] = fmt.Sprint(item.Due, item.Urgency == dashboard.Overdue)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 30 {
		t.Errorf("%d records (-descriptors +query):\n%s", len(got), diff)
	}
}
