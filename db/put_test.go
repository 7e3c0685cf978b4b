package db_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// putStore is an empty data file. Its clock starts at 12:00 on 1 June 2026.
type putStore struct {
	*testing.T
	*db.DB
	by    db.Actor
	clock *testkit.Clock
}

func newPutStore(t *testing.T) *putStore {
	t.Helper()
	s := &putStore{T: t, clock: testkit.NewClock(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))}
	s.DB = testdb.Open(t, db.Options{Now: s.clock.Now})
	s.by = testdb.Operator(t, s.DB)
	return s
}

// put writes one record, as an import of it alone would.
func (s *putStore) put(text string) (outcome db.Outcome, err error) {
	s.Helper()
	record := testkit.Object(s, text)
	err = s.Write(context.Background(), s.by, func(tx *db.Tx) error {
		if outcome, err = tx.Put(record["object"].(string), record); err != nil {
			return err
		}
		return tx.Audit(audit.Event{Action: "import.completed", Category: audit.DataChange, Severity: audit.SeverityWrite})
	})
	return outcome, err
}

// records reads all records of a type, each reduced to the members named.
func (s *putStore) records(object string, members ...string) []string {
	s.Helper()
	var all []string
	err := s.Records(context.Background(), s.by.Org, object, func(text []byte) error {
		var record map[string]json.RawMessage
		err := json.Unmarshal(text, &record)
		var values []string
		for _, member := range members {
			values = append(values, string(record[member]))
		}
		all = append(all, strings.Join(values, " "))
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	slices.Sort(all)
	return all
}

const (
	vendor    = `{"object":"vendor","vendor_key":"V","vendor_name":"N","category":"c","initial_risk_band":"LOW"`
	signal    = `{"object":"signal","signal_type":"S","module_id":"m"`
	keyResult = `{"object":"kpi","code":"K","statement":"s","metric_name":"m","unit":"%","direction":"increase","target_value":9,"measurement_frequency":"monthly","status":"active"`
	checkin   = `{"object":"kpi_checkin","key_result_code":"K"`
	roadmap   = `{"object":"roadmap","generated_at":"2026-01-01T00:00:00Z"`
	milestone = `{"object":"milestone","title":"t","phase":"p","sequence":1,"status":"blocked","rag_status":"RED","owner_role":"o"`
	incident  = `{"object":"incident","title":"t"`
	oneID     = `"01993e0a-52c0-7c3e-9d2b-000000000001"`
	otherID   = `"01993e0a-52c0-7c3e-9d2b-000000000002"`
)

// TestPut puts records one after the other, an hour apart from 12:00 on. It checks the
// outcome of each put and the members that are stored at the end.
func TestPut(t *testing.T) {
	t.Parallel()
	type step struct {
		record  string
		outcome db.Outcome
	}
	rows := []struct {
		name    string
		steps   []step
		object  string
		members string
		want    []string
	}{
		{
			"members that are present replace, the others stay",
			[]step{{vendor + `,"notes":"n","ai_role":"r"}`, db.Created}, {vendor + `,"notes":"m","annual_cost_usd":5}`, db.Updated}},
			"vendor", "notes ai_role annual_cost_usd status updated_at",
			[]string{`"m" "r" 5 "active" "2026-06-01T13:00:00.000Z"`},
		},
		{
			"null clears",
			[]step{{vendor + `,"notes":"n"}`, db.Created}, {vendor + `,"notes":null}`, db.Updated}},
			"vendor", "notes",
			[]string{`null`},
		},
		{
			"unchanged members stay untouched",
			[]step{{vendor + `,"annual_cost_usd":5}`, db.Created}, {vendor + `,"annual_cost_usd":5.0,"id":` + otherID + `,"created_at":"2020-01-01T00:00:00Z","updated_at":"2027-01-01T00:00:00Z"}`, db.Unchanged}},
			"vendor", "created_at updated_at",
			[]string{`"2026-06-01T12:00:00.000Z" "2026-06-01T12:00:00.000Z"`},
		},
		{
			"id and created_at count for a new record only",
			[]step{{vendor + `,"id":` + oneID + `,"created_at":"2020-01-01T01:00:00+01:00"}`, db.Created}, {vendor + `,"id":` + otherID + `,"created_at":"2021-01-01T00:00:00Z","notes":"n"}`, db.Updated}},
			"vendor", "id created_at",
			[]string{oneID + ` "2020-01-01T00:00:00.000Z"`},
		},
		{
			"a new record keeps its stamp",
			[]step{{vendor + `,"updated_at":"2020-01-01T00:00:00Z"}`, db.Created}},
			"vendor", "updated_at",
			[]string{`"2020-01-01T00:00:00.000Z"`},
		},
		{
			"a later stamp counts",
			[]step{{vendor + `,"updated_at":"2020-01-01T00:00:00Z"}`, db.Created}, {vendor + `,"updated_at":"2020-01-02T00:00:00Z","notes":"n"}`, db.Updated}},
			"vendor", "updated_at",
			[]string{`"2020-01-02T00:00:00.000Z"`},
		},
		{
			"a change under an old stamp is a change now",
			[]step{{vendor + `,"updated_at":"2020-01-01T00:00:00Z"}`, db.Created}, {vendor + `,"updated_at":"2020-01-01T00:00:00Z","notes":"n"}`, db.Updated}},
			"vendor", "updated_at",
			[]string{`"2026-06-01T13:00:00.000Z"`},
		},
		{
			"the baseline of a risk is that of its entry",
			[]step{{`{"object":"risk","risk_id":"R","description":"d","severity":"CRITICAL","likelihood":"LIKELY"}`, db.Created}, {`{"object":"risk","risk_id":"R","description":"d","severity":"LOW"}`, db.Updated}},
			"risk", "severity likelihood",
			[]string{`"LOW" "LIKELY"`},
		},
		{
			"a later signal supersedes",
			[]step{{signal + `,"as_of":"2026-01-01T00:00:00Z","numeric_value":1,"id":` + oneID + `}`, db.Created}, {signal + `,"as_of":"2026-01-02T00:00:00Z","numeric_value":2,"id":` + otherID + `}`, db.Updated}},
			"signal", "id numeric_value",
			[]string{otherID + " 2"},
		},
		{
			"an earlier signal is history",
			[]step{
				{signal + `,"as_of":"2026-01-02T00:00:00Z","numeric_value":2,"id":` + oneID + `}`, db.Created},
				{signal + `,"as_of":"2026-01-01T00:00:00Z","numeric_value":1,"id":` + oneID + `}`, db.Updated},
				{signal + `,"as_of":"2026-01-01T00:00:00Z","numeric_value":7}`, db.Unchanged},
			},
			"signal", "id numeric_value",
			[]string{oneID + " 2"},
		},
		{
			"signals of one id for all times",
			[]step{
				{signal + `,"as_of":"2026-01-01T00:00:00Z","numeric_value":1,"id":` + oneID + `}`, db.Created},
				{signal + `,"as_of":"2026-01-02T00:00:00Z","numeric_value":2,"id":` + oneID + `}`, db.Updated},
				{signal + `,"as_of":"2026-01-03T00:00:00Z","numeric_value":3,"id":` + oneID + `}`, db.Updated},
				{signal + `,"as_of":"2026-01-03T01:00:00+01:00","numeric_value":3,"id":` + oneID + `}`, db.Unchanged},
			},
			"signal", "numeric_value as_of",
			[]string{`3 "2026-01-03T00:00:00.000Z"`},
		},
		{
			"a corrected signal",
			[]step{{signal + `,"as_of":"2026-01-01T00:00:00Z","numeric_value":1}`, db.Created}, {signal + `,"as_of":"2026-01-01T00:00:00Z","numeric_value":2}`, db.Updated}},
			"signal", "numeric_value",
			[]string{"2"},
		},
		{
			"milestones are counted where the file does not",
			[]step{
				{roadmap + `,"version_number":1,"milestones_count":null}`, db.Created},
				{milestone + `,"milestone_key":"a"}`, db.Created},
				{milestone + `,"milestone_key":"b"}`, db.Created},
				{roadmap + `,"version_number":1,"milestones_count":null}`, db.Unchanged},
				{roadmap + `,"version_number":1,"milestones_count":1}`, db.Unchanged},
			},
			"roadmap", "milestones_count",
			[]string{"2"},
		},
		{
			"a count above that of the milestones stands",
			[]step{{roadmap + `,"version_number":1,"milestones_count":7}`, db.Created}, {milestone + `,"milestone_key":"a"}`, db.Created}, {roadmap + `,"version_number":1,"milestones_count":5}`, db.Updated}},
			"roadmap", "milestones_count",
			[]string{"5"},
		},
		{
			"a milestone is of the active roadmap by default",
			[]step{
				{roadmap + `,"version_number":2}`, db.Created},
				{roadmap + `,"version_number":1}`, db.Created},
				{milestone + `,"milestone_key":"a"}`, db.Created},
				{milestone + `,"milestone_key":"a","roadmap_version":2,"roadmap_id":` + oneID + `}`, db.Unchanged},
				{milestone + `,"milestone_key":"a","roadmap_version":1}`, db.Created},
			},
			"milestone", "roadmap_version milestone_key",
			[]string{`1 "a"`, `2 "a"`},
		},
		{
			"the current value follows the latest period",
			[]step{
				{keyResult + `}`, db.Created},
				{checkin + `,"period_start":"2026-02-01","value":2}`, db.Created},
				{checkin + `,"period_start":"2026-01-01","value":1}`, db.Created},
				{keyResult + `,"current_value":5}`, db.Unchanged},
				{keyResult + `,"current_value":5,"current_as_of":"2026-02-01T23:00:00-04:00"}`, db.Updated}, // the 2nd of February
			},
			"kpi", "current_value current_as_of",
			[]string{`5 "2026-02-02T03:00:00.000Z"`},
		},
		{
			"a key result's own value of a period with a check-in",
			[]step{
				{keyResult + `,"current_value":5,"current_as_of":"2026-01-01T00:00:00Z"}`, db.Created},
				{checkin + `,"period_start":"2026-01-01","value":1}`, db.Created},
				{keyResult + `,"current_value":5,"current_as_of":"2026-01-01T00:30:00Z"}`, db.Unchanged},
			},
			"kpi", "current_value current_as_of updated_at",
			[]string{`1 "2026-01-01T00:00:00.000Z" "2026-06-01T13:00:00.000Z"`},
		},
		{
			"a check-in replaces that of its period",
			[]step{
				{keyResult + `}`, db.Created},
				{checkin + `,"period_start":"2026-01-01","value":1,"note":"n","id":` + oneID + `}`, db.Created},
				{checkin + `,"period_start":"2026-01-01","value":1.0,"note":"n","id":` + otherID + `}`, db.Unchanged},
				{checkin + `,"period_start":"2026-01-01","value":2,"id":` + oneID + `}`, db.Updated},
			},
			"kpi_checkin", "id value note source created_at updated_at",
			[]string{oneID + ` 2 null "import" "2026-06-01T13:00:00.000Z" "2026-06-01T15:00:00.000Z"`},
		},
		{
			"an incident is found by its key or its id",
			[]step{
				{incident + `,"incident_key":"I","id":` + oneID + `}`, db.Created},
				{incident + `,"incident_key":"I","severity":"low"}`, db.Updated},
				{incident + `,"id":` + oneID + `,"status":"closed"}`, db.Updated},
				{incident + `,"id":` + oneID + `}`, db.Unchanged},
			},
			"incident", "id severity timeline",
			[]string{oneID + ` "low" [{"at":"2026-06-01T12:00:00.000Z","status":"open","note":"Incident declared","actor":"system"},` +
				`{"at":"2026-06-01T14:00:00.000Z","status":"closed","note":null,"actor":"system"}]`},
		},
		{
			"a timeline that is given is taken",
			[]step{
				{incident + `,"incident_key":"I","updated_at":"2026-01-01T00:00:00Z","timeline":[{"at":"2026-01-01T00:00:00Z","status":"open"}]}`, db.Created},
				{incident + `,"incident_key":"I","updated_at":"2026-01-01T00:00:00Z","timeline":[{"at":"2026-01-01T01:00:00+01:00","status":"open"}]}`, db.Unchanged},
				{incident + `,"incident_key":"I","updated_at":"2026-01-01T00:00:00Z","timeline":[{"at":"2026-01-02T00:00:00Z","status":"open"}]}`, db.Updated},
			},
			"incident", "timeline updated_at",
			[]string{`[{"at":"2026-01-02T00:00:00.000Z","status":"open","note":null,"actor":null}] "2026-06-01T14:00:00.000Z"`},
		},
		{
			"a deadline is set once",
			[]step{
				{incident + `,"incident_key":"I","notification_required":true,"notification_deadline":null}`, db.Created},
				{incident + `,"incident_key":"I","notification_required":true,"notification_deadline":null}`, db.Unchanged},
				{incident + `,"incident_key":"I","notification_deadline":null}`, db.Unchanged},
			},
			"incident", "notification_deadline updated_at",
			[]string{`"2026-06-04T12:00:00.000Z" "2026-06-01T12:00:00.000Z"`},
		},
		{
			"a deadline goes with the duty",
			[]step{{incident + `,"incident_key":"I","notification_required":true}`, db.Created}, {incident + `,"incident_key":"I","notification_required":false,"notification_deadline":null}`, db.Updated}},
			"incident", "notification_deadline",
			[]string{`null`},
		},
		{
			"a deadline that is given stands",
			[]step{
				{incident + `,"incident_key":"I"}`, db.Created},
				{incident + `,"incident_key":"I","notification_required":true,"notification_deadline":"2026-07-01T00:00:00Z"}`, db.Updated},
			},
			"incident", "notification_deadline",
			[]string{`"2026-07-01T00:00:00.000Z"`},
		},
		{
			"numbers stay what they are",
			[]step{{vendor + `,"annual_cost_usd":0.30000000000000004}`, db.Created}, {vendor + `,"annual_cost_usd":0.3}`, db.Updated}, {vendor + `,"annual_cost_usd":3e-1}`, db.Unchanged}},
			"vendor", "annual_cost_usd",
			[]string{"0.3"},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newPutStore(t)
			for i, step := range row.steps {
				if outcome, err := s.put(step.record); err != nil || outcome != step.outcome {
					t.Errorf("step %d: outcome %d, want %d; %v", i+1, outcome, step.outcome, err)
				}
				s.clock.Advance(time.Hour)
			}
			if diff := cmp.Diff(row.want, s.records(row.object, strings.Fields(row.members)...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.object, diff)
			}
		})
	}
}

func TestPutRefuses(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name          string
		before        []string
		record        string
		param, reason string
	}{
		{
			"the id of another",
			[]string{vendor + `,"id":` + oneID + `}`},
			strings.Replace(vendor, `"V"`, `"W"`, 1) + `,"id":` + oneID + `}`,
			"id", "id belongs to another vendor",
		},
		{
			"the key of another",
			[]string{incident + `,"incident_key":"I"}`, incident + `,"id":` + oneID + `}`},
			incident + `,"incident_key":"I","id":` + oneID + `}`,
			"incident_key", "id and incident_key are those of two different incidents",
		},
		{"no key", nil, incident + `}`, "incident_key", "incident_key or id is required: without one the incident can't be found again"},
		{"no key result", nil, checkin + `,"period_start":"2026-01-01","value":1}`, "key_result_code", "no key result has this code; import the kpi first"},
		{"no roadmap", nil, milestone + `,"milestone_key":"a"}`, "roadmap_version", "there is no roadmap yet; import one first"},
		{"not that roadmap", []string{roadmap + `,"version_number":1}`}, milestone + `,"milestone_key":"a","roadmap_version":2}`, "roadmap_version", "there is no roadmap of version 2; import it first"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newPutStore(t)
			for _, record := range row.before {
				if _, err := s.put(record); err != nil {
					t.Fatal(err)
				}
			}
			_, err := s.put(row.record)
			var refused *db.Error
			if !errors.As(err, &refused) || refused.Code != db.Invalid || refused.Param != row.param || refused.Message != row.reason {
				t.Errorf("%#v, want %s: %s", err, row.param, row.reason)
			}
		})
	}
}

// TestSnapshot checks that two reads of a snapshot return the same, although a write
// changes the record between them.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := newPutStore(t)
	if _, err := s.put(vendor + `,"notes":"before"}`); err != nil {
		t.Fatal(err)
	}
	var read []string
	err := s.Snapshot(t.Context(), func(snapshot *db.Snapshot) error {
		for range 2 {
			err := snapshot.Records(t.Context(), s.by.Org, "vendor", func(record []byte) error {
				read = append(read, string(record))
				return nil
			})
			if err != nil {
				return err
			}
			if _, err := s.put(vendor + `,"notes":"after"}`); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(read) != 2 || read[0] != read[1] || !strings.Contains(read[0], "before") {
		t.Errorf("%q, %v", read, err)
	}
	if after := s.records("vendor", "notes"); after[0] != `"after"` {
		t.Errorf("%q", after)
	}
	if err := s.Records(t.Context(), s.by.Org, "score", nil); err == nil {
		t.Error("an unknown type was read")
	}
}
