package api_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/server/api"
	"govsvc/server/transfer"
)

// TestBrowse checks the queries of a page. Package db tests their results.
func TestBrowse(t *testing.T) {
	t.Parallel()
	f := newDemoFixture(t)
	all, err := api.Browse(f.ctx, f.Caller, "risk", api.View{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	ids := func(records []api.Record) string {
		var list []string
		for _, r := range records {
			list = append(list, r["risk_id"].(string))
		}
		return strings.Join(list, " ")
	}
	where := func(keep func(api.Record) bool) string {
		return ids(slices.DeleteFunc(slices.Clone(all.Records), func(r api.Record) bool { return !keep(r) }))
	}
	first := all.Records[7]["updated_at"].(string)
	for _, row := range []struct {
		v    api.View
		want string
	}{
		{api.View{Limit: 200}, ids(all.Records)},
		{api.View{}, ids(all.Records[:25])},
		{api.View{Limit: 200, Filters: map[string]string{"severity": "", "status": ""}}, ids(all.Records)},
		{api.View{Limit: 200, Filters: map[string]string{"severity": "HIGH"}}, where(func(r api.Record) bool { return r["severity"] == "HIGH" })},
		{api.View{Limit: 200, Filters: map[string]string{"status": "Open,InProgress,Open", "severity": "LOW"}}, where(func(r api.Record) bool {
			return r["severity"] == "LOW" && (r["status"] == "Open" || r["status"] == "InProgress")
		})},
		{api.View{Limit: 200, Filters: map[string]string{"updated_since": first}}, where(func(r api.Record) bool { return r["updated_at"].(string) >= first })},
		{api.View{Limit: 200, Search: " model "}, where(func(r api.Record) bool {
			for _, member := range []string{"risk_id", "title", "description", "owner_name", "dimension", "mitigation_action"} {
				if text, _ := r[member].(string); strings.Contains(strings.ToLower(text), "model") {
					return true
				}
			}
			return false
		})},
	} {
		page, err := api.Browse(f.ctx, f.Caller, "risk", row.v)
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(page.Records); got != row.want || got == "" {
			t.Errorf("%+v:\n got %s\nwant %s", row.v, got, row.want)
		}
	}
}

func TestBrowse_Refuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, row := range []struct {
		object string
		v      api.View
		want   string
	}{
		{"risk", api.View{Limit: 201}, "invalid_parameter limit: limit must be from 1 to 200"},
		{"risk", api.View{Limit: -1}, "invalid_parameter limit: limit must be from 1 to 200"},
		{"risk", api.View{Search: strings.Repeat("é", 201)}, "invalid_parameter search: search must have at most 200 characters"},
		{"risk", api.View{Search: "\xff"}, "invalid_parameter search: search must have at most 200 characters"},
		{"risk", api.View{Search: "a b c d e f g h i"}, "invalid_parameter search: search must have at most 8 words"},
		{"risk", api.View{Cursor: "x"}, "invalid_cursor cursor: cursor was not issued by this list; use a next_cursor without changes, or leave it out to start over"},
		{"milestone", api.View{Sort: "x"}, "invalid_parameter sort: sort must be one of created_at, updated_at, milestone_key, title, phase, sequence, status, rag_status, " +
			"progress_pct, owner_role, target_date, with - before it for the greatest first"},
		{"risk", api.View{Filters: map[string]string{"owner": "x"}}, `invalid_parameter owner: "owner" is not a filter of this list`},
		{"risk", api.View{Filters: map[string]string{"status": "open"}}, "invalid_parameter status: status must be one of Open, InProgress, Mitigated, Accepted, Closed, or several of them with commas between them"},
		{"risk", api.View{Filters: map[string]string{"status": "Open,"}}, "invalid_parameter status: status must be one of Open, InProgress, Mitigated, Accepted, Closed, or several of them with commas between them"},
		{"risk", api.View{Filters: map[string]string{"updated_since": "soon"}}, "invalid_parameter updated_since: updated_since must be an ISO-8601 date or an RFC 3339 timestamp"},
		{"kpi", api.View{Filters: map[string]string{"code": strings.Repeat("x", 201)}}, "invalid_parameter code: code must have at most 200 characters"},
		{"kpi_checkin", api.View{}, `not_found : there are no records of type "kpi_checkin"`},
		{"users", api.View{}, `not_found : there are no records of type "users"`},
	} {
		_, err := api.Browse(f.ctx, f.Caller, row.object, row.v)
		if got := refusal(err); got != row.want {
			t.Errorf("%s %+v:\n got %q\nwant %q", row.object, row.v, got, row.want)
		}
	}
}

// TestExportView checks that an export has all records of a view in its order. The
// audit log records the export, also if it ended early.
func TestExportView(t *testing.T) {
	t.Parallel()
	f := newDemoFixture(t)
	v := api.View{Sort: "-title", Search: "a", Filters: map[string]string{"severity": "HIGH"}, Limit: 200}
	page, err := api.Browse(f.ctx, f.Caller, "risk", v)
	if err != nil {
		t.Fatal(err)
	}
	var got []api.Record
	v.Limit = 1
	err = api.ExportView(f.ctx, f.Caller, "risk", v, func(record []byte) error {
		got = append(got, testkit.Object(t, string(record)))
		return nil
	})
	if diff := cmp.Diff(page.Records, got); err != nil || diff != "" || len(got) < 5 {
		t.Errorf("%v (-page +export):\n%s", err, diff)
	}
	want := fmt.Sprintf(`ada export.completed   {"filters":{"severity":"HIGH"},"request_id":"req_1","search":"a","types":{"risk":%d}}`, len(got))
	if entry := f.auditLog(t, 1)[0]; entry != want {
		t.Errorf("got audit event %s, want %s", entry, want)
	}
	stop := errors.New("stop")
	for _, row := range []struct {
		last   int // record that the reader takes before it disconnects
		err    error
		action string
	}{
		{len(got), nil, "export.completed"}, // the reader has all records
		{3, stop, "export.failed"},          // the download of a browser was cancelled
	} {
		ctx, leave := context.WithCancel(f.ctx)
		sent, before := 0, f.auditLog(t, 1)
		err := api.ExportView(ctx, f.Caller, "risk", v, func([]byte) error {
			if sent++; sent == row.last {
				leave()
				return row.err
			}
			return nil
		})
		if !errors.Is(err, row.err) {
			t.Errorf("got %v, want %v", err, row.err)
		}
		log := f.auditLog(t, 2)
		want := fmt.Sprintf(`ada %s   {"filters":{"severity":"HIGH"},"request_id":"req_1","search":"a","types":{"risk":%d}}`, row.action, row.last)
		if log[0] != want || log[1] != before[0] {
			t.Errorf("got last audit events %q, want %s after %s", log, want, before[0])
		}
	}
}

// TestSearchAudit checks the queries of the page of the audit log.
func TestSearchAudit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range slices.Sorted(maps.Keys(validBodies)) {
		if name != "milestone" {
			f.add(t, name)
		}
	}
	search := func(s api.AuditSearch) (string, error) {
		page, err := api.SearchAudit(f.ctx, f.Caller, s)
		var actions []string
		for _, e := range page.Events {
			actions = append(actions, e.Action)
		}
		return strings.Join(actions, " "), err
	}
	for _, row := range []struct {
		s         api.AuditSearch
		want, err string
	}{
		{api.AuditSearch{Limit: 2}, "vendor_portfolio.created vendor.created", ""},
		{api.AuditSearch{Action: "risk.created"}, "risk.created", ""},
		{api.AuditSearch{Action: "risk*"}, "risk.created", ""},
		{api.AuditSearch{Action: "ISK.crea"}, "risk.created", ""},
		{api.AuditSearch{Action: "risk created"}, "risk.created", ""},
		{api.AuditSearch{Action: "sk*"}, "", ""},
		{api.AuditSearch{Action: "%"}, "", ""},
		{api.AuditSearch{Actor: "ada", ResourceType: "incident"}, "incident.created", ""},
		{api.AuditSearch{Action: "audit.*"}, "", ""}, // searches are not recorded
		{api.AuditSearch{Text: "Talent gap"}, "talent_gap.created", ""},
		{api.AuditSearch{Text: "acm"}, "vendor.created", ""}, // by the name of the record
		{api.AuditSearch{Text: "nothing like it"}, "", ""},
		{api.AuditSearch{Text: "nothing like it", TextActors: []string{"ada"}, ResourceType: "incident"}, "incident.created", ""},
		{api.AuditSearch{Text: "0.5%_"}, "", ""},
		{api.AuditSearch{Text: strings.Repeat("x", 201)}, "", "invalid_parameter q: q must have at most 200 characters"},
		{api.AuditSearch{Until: testkit.Start}, "", ""},
		{api.AuditSearch{Since: testkit.Start, Action: "vendor.*"}, "vendor.created", ""},
		{api.AuditSearch{Limit: 201}, "", "invalid_parameter limit: limit must be from 1 to 200"},
		{api.AuditSearch{Actor: strings.Repeat("x", 201)}, "", "invalid_parameter actor: actor must have at most 200 characters"},
		{api.AuditSearch{Action: "\xff"}, "", "invalid_parameter action: action must have at most 200 characters"},
		{api.AuditSearch{Cursor: "x"}, "", "invalid_cursor cursor: cursor was not issued by this list; use a next_cursor without changes, or leave it out to start over"},
	} {
		got, err := search(row.s)
		if got != row.want || refusal(err) != row.err {
			t.Errorf("%+v: got %q, %q, want %q, %q", row.s, got, refusal(err), row.want, row.err)
		}
	}
}

// TestExportAudit checks that an export has all events that match, and records itself.
func TestExportAudit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 3 {
		f.add(t, "incident")
	}
	f.add(t, "vendor")
	var actions []string
	err := api.ExportAudit(f.ctx, f.Caller, api.AuditSearch{Action: "incident", Limit: 1}, "csv", func(events []api.AuditEvent, lines [][]byte) error {
		for i, event := range events {
			if !strings.Contains(string(lines[i]), event.ID) {
				t.Errorf("line %d is not of the event %s", i, event.ID)
			}
			actions = append(actions, event.Action)
		}
		return nil
	})
	if got := strings.Join(actions, " "); err != nil || got != "incident.created incident.created incident.created" {
		t.Errorf("got %s, %v", got, err)
	}
	if entry := f.auditLog(t, 1)[0]; entry != `ada audit.exported   {"complete":true,"events":3,"filters":{"action":"incident"},"format":"csv","request_id":"req_1"}` {
		t.Errorf("got audit event %s", entry)
	}
}

// TestRiskEvidence checks the list of the reasons for ratings of a risk, newest first.
func TestRiskEvidence(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.add(t, "risk")
	f.save(t, "risk", id, map[string]any{"severity": "MEDIUM", "severity_change_reason": "The first of two good reasons"})
	f.save(t, "risk", id, map[string]any{"likelihood": "RARE", "severity_change_reason": "The second of two good reasons"})
	got, err := api.RiskEvidence(f.ctx, f.Caller, id)
	if err != nil {
		t.Fatal(err)
	}
	rated := func(severity, likelihood string) db.Rating {
		return db.Rating{Severity: severity, Likelihood: likelihood, Status: "Open"}
	}
	want := []api.Rerating{
		{At: db.Timestamp(testkit.Start), Actor: "ada", Reason: "The second of two good reasons", Before: rated("MEDIUM", "LIKELY"), After: rated("MEDIUM", "RARE")},
		{At: db.Timestamp(testkit.Start), Actor: "ada", Reason: "The first of two good reasons", Before: rated("HIGH", "LIKELY"), After: rated("MEDIUM", "LIKELY")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExportView_Sheet checks that free-form members are in a sheet as they are stored.
func TestExportView_Sheet(t *testing.T) {
	t.Parallel()
	f := newDemoFixture(t)
	put := `{"object":"roadmap","version_number":99,"generated_at":"2026-09-30T00:00:00Z","framework_blend":{"R&D <1>":0.5},"phases":[]}`
	by := f.operator()
	if report, err := transfer.Import(f.ctx, f.Store, f.Document, by, []transfer.Source{transfer.Bytes("x.ndjson", []byte(put))}, transfer.Options{}); err != nil {
		t.Fatal(err, report.Errors)
	}
	var sheet strings.Builder
	out, err := transfer.NewSheetWriter(f.Document, "roadmap", &sheet)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(api.ExportView(f.ctx, f.Caller, "roadmap", api.View{}, out.Write), out.Flush()); err != nil {
		t.Fatal(err)
	}
	if want := `,"{""R&D <1>"":0.5}",`; !strings.Contains(sheet.String(), want) {
		t.Errorf("got sheet\n%s\nwant %s in it", sheet.String(), want)
	}
}
