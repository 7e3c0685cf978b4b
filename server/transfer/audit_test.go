package transfer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db/resource"
	"govsvc/sandbox"
	"govsvc/server/transfer"
)

// importEvent is an event of the audit log in the form of the API.
type importEvent struct {
	Action       string
	Category     string
	ResourceType *string `json:"resource_type"`
	ResourceID   *string `json:"resource_id"`
	Severity     int
	Metadata     struct {
		ImportID string `json:"import_id"`
		Reason   string
		Changes  map[string]struct{ From, To any }
		Records  int
		Sources  []string
		Types    any
	}
}

// auditLog reads the audit events of the file, oldest first, and checks the
// hash chain.
func (s *store) auditLog() []importEvent {
	s.t.Helper()
	var all []importEvent
	for _, text := range s.query("SELECT event FROM audit_events ORDER BY seq") {
		var event importEvent
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, event)
	}
	if n, broken, err := s.Audit.Verify(s.t.Context(), s.by.Org); err != nil || broken != nil || n != len(all) {
		s.t.Errorf("%d of %d events are intact: %+v %v", n, len(all), broken, err)
	}
	return all
}

// members returns the records of an export, by their ids.
func members(t *testing.T, export string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for line := range strings.Lines(export) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		all[record["id"].(string)] = record
	}
	return all
}

// changesOf returns the differences between two states of a record in the form of an
// audit event. It omits members that follow other records.
func changesOf(before, after map[string]any) map[string]struct{ From, To any } {
	changes := map[string]struct{ From, To any }{}
	for member, to := range after {
		switch member {
		case "object", "id", "created_at", "updated_at", "milestones_count", "current_value", "current_as_of":
			continue
		}
		if !reflect.DeepEqual(before[member], to) {
			changes[member] = struct{ From, To any }{before[member], to}
		}
	}
	return changes
}

// withoutDerived removes the members that changesOf omits.
func withoutDerived(changes map[string]struct{ From, To any }) map[string]struct{ From, To any } {
	for _, member := range []string{"milestones_count", "current_value", "current_as_of"} {
		delete(changes, member)
	}
	return changes
}

// alter has a change of one record of each type of the demonstration data.
var alter = map[string]map[string]any{
	"assessment":         {"verdict": "CRISIS", "frameworks_applied": []any{"ISO 42001", "a;b"}},
	"risk":               {"title": "Another <title> & “more”\u2028", "severity": nil, "financial_exposure_max": 0.1, "status": "Closed"},
	"signal":             {"numeric_value": 17, "source_version": nil},
	"roadmap":            {"framework_blend": map[string]any{"NIST": 0.5}, "executive_summary": "Another"},
	"milestone":          {"progress_pct": 12.5, "target_date": nil},
	"compliance_posture": {"regimes": []any{}, "executive_summary": "Another"},
	"obligation":         {"owner_role": "Another", "status": "at_risk"},
	"vendor_portfolio":   {"cross_vendor_risks": []any{"x"}},
	"vendor":             {"notes": "Another", "annual_cost_usd": 1e21, "contract_start": "2020-01-01"},
	"talent_readiness":   {"build_buy_borrow": map[string]any{"build": 1, "buy": 0, "borrow": 0}},
	"talent_gap":         {"headcount_needed": 77},
	"kpi":                {"target_value": -0.5, "statement": "Another"},
	"kpi_checkin":        {"value": 77.5, "note": "Another", "evidence_ref": nil},
	"incident": {
		"notification_required": true, "severity": "low",
		"timeline": []any{map[string]any{"at": "2026-01-01T00:00:00.000Z", "status": "open", "note": nil, "actor": "me"}},
	},
}

// TestImport_AuditsEachRecord imports records of all types, and then changed ones,
// and compares the events with two exports.
func TestImport_AuditsEachRecord(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if _, err := s.try(transfer.Options{}, sandbox.Demo()); err != nil {
		t.Fatal(err)
	}
	before := s.export()
	check := func(t *testing.T, events []importEvent, verb string, was, is map[string]map[string]any, records int) {
		t.Helper()
		if len(events) != records+1 {
			t.Fatalf("%d events, want %d", len(events), records+1)
		}
		end := events[records]
		if end.Action != "import.completed" || end.Metadata.ImportID == "" || *end.ResourceType != "import" || *end.ResourceID != end.Metadata.ImportID {
			t.Errorf("the last event is %+v", end)
		}
		for _, event := range events[:records] {
			after := is[*event.ResourceID]
			object := fmt.Sprint(after["object"])
			if event.Action != object+"."+verb || *event.ResourceType != object || event.Category != "data_change" || event.Severity != 3 || event.Metadata.ImportID != end.Metadata.ImportID {
				t.Errorf("%+v for %v", event, after)
				continue
			}
			want := changesOf(was[*event.ResourceID], after)
			if verb == "created" {
				maps.DeleteFunc(want, func(_ string, change struct{ From, To any }) bool { return change.To == nil })
			}
			if diff := cmp.Diff(want, withoutDerived(event.Metadata.Changes)); diff != "" {
				t.Errorf("changes of %s (-want +got):\n%s", object, diff)
			}
		}
	}
	is := members(t, before)
	events := s.auditLog()
	check(t, events[:len(events)-1], "created", nil, is, len(is)) // the last event is the export

	var changed []string
	done := map[string]bool{}
	for line := range strings.Lines(before) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		object := record["object"].(string)
		if done[object] {
			changed = append(changed, line) // unchanged
			continue
		}
		done[object] = true
		maps.Copy(record, alter[object])
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		changed = append(changed, string(text))
	}
	if len(done) != len(resource.Types()) {
		t.Fatalf("the demonstration data has the types %v", slices.Collect(maps.Keys(done)))
	}
	old := len(s.auditLog())
	s.put(changed...)
	now := members(t, s.export())
	events = s.auditLog()[old:]
	check(t, events[:len(events)-1], "updated", is, now, len(alter))
	old = len(s.auditLog())
	s.put(changed...)
	if events := s.auditLog()[old:]; len(events) != 1 || events[0].Action != "import.completed" {
		t.Errorf("a second import of the same records has the events %+v", events)
	}
}

// TestImport_AuditsSupersededSignal checks that the event of a new signal names the value
// that it replaces.
func TestImport_AuditsSupersededSignal(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	signal := func(value int, asOf string) string {
		return fmt.Sprintf(`{"object":"signal","signal_type":"S","module_id":"m","numeric_value":%d,"as_of":"2026-0%s-01T00:00:00Z"}`, value, asOf)
	}
	s.put(signal(1, "2"))
	s.put(signal(2, "3"))
	s.put(signal(9, "1")) // an older value
	var got []string
	for _, e := range s.auditLog() {
		if e.Action != "import.completed" {
			got = append(got, fmt.Sprint(e.Action, " ", e.Metadata.Changes["numeric_value"], " ", e.Metadata.Changes["signal_type"]))
		}
	}
	want := []string{"signal.created {<nil> 1} {<nil> S}", "signal.updated {1 2} {<nil> <nil>}", "signal.updated {<nil> 9} {<nil> S}"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestImport_AuditsDeadlineOfIncident checks that the audit event includes the deadline
// that the service sets.
func TestImport_AuditsDeadlineOfIncident(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	incident := func(members string) string {
		return `{"object":"incident","incident_key":"I","title":"t","created_at":"2026-01-01T00:00:00Z"` + members + "}"
	}
	s.put(incident(""))
	s.put(incident(`,"notification_required":true`))
	s.put(`{"object":"incident","incident_key":"J","title":"t","created_at":"2026-01-01T00:00:00Z","notification_required":true}`)
	for _, at := range []int{2, 4} {
		event := s.auditLog()[at]
		if got := event.Metadata.Changes["notification_deadline"]; got.From != nil || got.To != "2026-01-04T00:00:00.000Z" {
			t.Errorf("%s: %+v", event.Action, got)
		}
	}
}

func TestImport_AuditsImport(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	source := transfer.Bytes("/home/jo/risks.ndjson", []byte(good+"\n"+risk("S", "")))
	for range 2 {
		if _, err := s.try(transfer.Options{Reason: "The annual review of all risks"}, source, transfer.Bytes("none.json", nil)); err != nil {
			t.Fatal(err)
		}
	}
	before := s.contents()
	if _, err := s.try(transfer.Options{DryRun: true}, lines(risk("S", `,"title":"t"`))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.try(transfer.Options{}, lines(risk("S", `,"title":"t"`), milestone(""))); err == nil {
		t.Fatal("a milestone without a roadmap was imported")
	}
	if diff := cmp.Diff(before, s.contents()); diff != "" {
		t.Errorf("a dry run or a failed import wrote (-before +after):\n%s", diff)
	}
	var got []string
	ids := map[string]bool{}
	for _, e := range s.auditLog() {
		ids[e.Metadata.ImportID] = true
		got = append(got, fmt.Sprint(e.Action, " ", e.Metadata.Records, " ", e.Metadata.Sources, " ", e.Metadata.Types, " ", e.Metadata.Reason))
	}
	const none, reason = "0 [] <nil>", "The annual review of all risks"
	completed := func(created, unchanged int) string {
		return fmt.Sprintf("import.completed 2 [risks.ndjson none.json] map[risk:map[created:%d unchanged:%d updated:0]] %s", created, unchanged, reason)
	}
	want := []string{"risk.created " + none + " " + reason, "risk.created " + none + " " + reason, completed(2, 0), completed(0, 2)}
	if diff := cmp.Diff(want, got); diff != "" || len(ids) != 2 {
		t.Errorf("events (-want +got), of %d imports:\n%s", len(ids), diff)
	}
}
