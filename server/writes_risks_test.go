package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
)

// TestCreateRisk_Response checks a new risk in the response, in the list and in the
// data file.
func TestCreateRisk_Response(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	full := d.do(t, write{path: "/risks", body: `{"title":" A title ","description":"It may happen, and then\nit hurts.","severity":"CRITICAL",
		"likelihood":"POSSIBLE","dimension":"DATA","mitigation_action":"Act","owner_name":"The owner","target_date":"2026-12-31"}`, status: 201})
	bare := d.do(t, write{path: "/risks", body: goodRisk, status: 201})
	now := stored(start)
	want := []db.Record{
		{
			"object": "risk", "id": full["id"], "risk_id": "RISK-0001", "dimension": "DATA", "description": "It may happen, and then\nit hurts.",
			"severity": "CRITICAL", "residual_severity": nil, "status": "Open", "source": "user_added", "owner_name": "The owner",
			"financial_exposure_min": nil, "financial_exposure_max": nil, "target_date": "2026-12-31", "created_at": now,
		},
		{
			"object": "risk", "id": bare["id"], "risk_id": "RISK-0002", "dimension": "OTHER", "description": "A description of enough length.",
			"severity": "HIGH", "residual_severity": nil, "status": "Open", "source": "user_added", "owner_name": nil,
			"financial_exposure_min": nil, "financial_exposure_max": nil, "target_date": nil, "created_at": now,
		},
	}
	if diff := cmp.Diff(want, []db.Record{full, bare}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	listed := d.get(t, "/risks", d.key).page(t).Data
	if diff := cmp.Diff(want, []db.Record{listed[1], listed[0]}); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	d.checkRows(t, "what the API does not show", "SELECT title, likelihood, mitigation_action, residual_gap_reason, untreated_baseline, updated_at FROM risks ORDER BY seq",
		" A title |POSSIBLE|Act|<nil>|HIGH|"+now, "T|LIKELY|<nil>|<nil>|HIGH|"+now)
}

// TestCreateRisk_UntreatedBaseline reads the stored baseline: the band of the product
// of both ranks.
func TestCreateRisk_UntreatedBaseline(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	want := map[string]string{ // for each severity, from RARE to ALMOST_CERTAIN
		"LOW": "LOW LOW LOW MEDIUM MEDIUM", "MEDIUM": "LOW MEDIUM MEDIUM HIGH HIGH",
		"HIGH": "LOW MEDIUM HIGH HIGH CRITICAL", "CRITICAL": "MEDIUM HIGH HIGH CRITICAL CRITICAL",
	}
	for severity, bands := range want {
		for i, likelihood := range strings.Fields(likelihoods) {
			body := strings.Replace(strings.Replace(goodRisk, "HIGH", severity, 1), "LIKELY", likelihood, 1)
			id := d.id(t, "/risks", body)
			band := strings.Fields(bands)[i]
			d.checkRows(t, severity+" "+likelihood, "SELECT untreated_baseline FROM risks WHERE id = '"+id+"'", band)
			d.do(t, write{method: "PATCH", path: "/risks/" + id, body: `{"severity":"LOW","likelihood":"RARE","severity_change_reason":` + goodReason + `}`})
			d.checkRows(t, "treated", "SELECT untreated_baseline FROM risks WHERE id = '"+id+"'", band)
		}
	}
}

// TestRiskNumbers_Concurrent creates risks from many goroutines, and sends invalid
// requests at the same time. The numbers have no gaps and no duplicates in each
// organisation.
func TestRiskNumbers_Concurrent(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	_, acme := d.mint(t, "acme", db.KeyDraft{Scopes: writeScopes, PerMinute: new(100_000)})
	const workers, each = 16, 8
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := range each {
				w := write{path: "/risks", body: goodRisk, status: 201}
				if (worker+i)%2 == 0 {
					w.key = acme
				}
				d.do(t, w)
				w.body, w.status, w.code, w.param = strings.Replace(goodRisk, "HIGH", "high", 1), 400, "invalid_parameter", "severity"
				d.do(t, w)
			}
		})
	}
	group.Wait()
	want := make([]string, 0, workers*each/2)
	for n := range workers * each / 2 {
		want = append(want, fmt.Sprintf("RISK-%04d", n+1))
	}
	for _, org := range []string{db.DefaultOrganisation, "acme"} {
		d.checkRows(t, org, "SELECT risk_id FROM risks JOIN organisations o ON o.seq = org_id WHERE o.name = '"+org+"' ORDER BY risks.seq", want...)
		d.verifyAudit(t, org)
	}
}

// TestRiskNumbers_AfterImport checks that new numbers follow the highest imported one.
func TestRiskNumbers_AfterImport(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	next := func(want string) {
		t.Helper()
		if got := d.do(t, write{path: "/risks", body: goodRisk, status: 201})["risk_id"]; got != want {
			t.Errorf("risk_id %v, want %s", got, want)
		}
	}
	bring := func(ids ...string) {
		t.Helper()
		var records []db.Record
		for _, id := range ids {
			records = append(records, db.Record{"object": "risk", "risk_id": id, "description": "imported"})
		}
		load(t, d.store, db.DefaultOrganisation, records)
	}
	next("RISK-0001")
	bring("RISK-0007", "RISK-0003", "R-99", "risk-0050", "RISK-0060x", "RISK-99999999999999999999")
	next("RISK-0008")
	bring("RISK-0002") // below the last number
	next("RISK-0009")
	bring("RISK-10") // the next number in another form
	next("RISK-0011")
	bring("RISK-9998")
	next("RISK-9999")
	next("RISK-10000")
	if _, err := d.file.ExecContext(t.Context(), "UPDATE organisations SET last_risk_number = 1"); err != nil {
		t.Fatal(err)
	}
	next("RISK-0004") // 2 and 3 are used
}

// rerating is a PATCH of a risk with a previous rating. needed is whether it requires a
// reason.
type rerating struct {
	before, change string
	needed         bool
}

// TestSeverityChange_Reason checks each branch of the rule over HTTP.
// api.TestNeedsReason has every combination.
func TestSeverityChange_Reason(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	for _, row := range []rerating{
		{`{}`, `{"severity":"MEDIUM"}`, true},
		{`{}`, `{"severity":"CRITICAL"}`, false},
		{`{}`, `{"severity":"HIGH"}`, false},
		{`{}`, `{"likelihood":"RARE"}`, true},
		{`{}`, `{"likelihood":"ALMOST_CERTAIN"}`, false},
		{`{}`, `{"severity":"CRITICAL","likelihood":"POSSIBLE"}`, true},
		{`{}`, `{"residual_severity":"LOW"}`, false},
		{`{}`, `{"residual_severity":null}`, false},
		{`{"residual_severity":"MEDIUM"}`, `{"residual_severity":"LOW"}`, true},
		{`{"residual_severity":"MEDIUM"}`, `{"residual_severity":null}`, true},
		{`{"residual_severity":"MEDIUM"}`, `{"residual_severity":"HIGH"}`, false},
		{`{}`, `{"status":"Closed"}`, false},
		{`{}`, `{"status":"Mitigated"}`, false},
		{`{"severity":"CRITICAL"}`, `{"status":"Closed"}`, true},
		{`{"severity":"CRITICAL"}`, `{"status":"Accepted"}`, true},
		{`{"severity":"CRITICAL"}`, `{"status":"Mitigated"}`, true},
		{`{"severity":"CRITICAL"}`, `{"status":"InProgress"}`, false},
		{`{"severity":"CRITICAL"}`, `{"status":"Open","title":"x"}`, false},
		{`{}`, `{"severity":"CRITICAL","status":"Closed"}`, true},
		{`{"status":"Closed"}`, `{"severity":"CRITICAL"}`, false},
		{`{"status":"Closed"}`, `{"severity":"CRITICAL","status":"Closed"}`, false},
		{`{"status":"Closed","severity":"CRITICAL","severity_change_reason":` + goodReason + `}`, `{"status":"Open"}`, false},
		{`{"status":"Closed","severity":"CRITICAL","severity_change_reason":` + goodReason + `}`, `{"status":"Accepted"}`, true},
		{`{}`, `{"title":null,"owner_name":"x"}`, false},
	} {
		path := "/risks/" + d.id(t, "/risks", goodRisk)
		d.do(t, write{method: "PATCH", path: path, body: row.before})
		bare := write{name: "after " + row.before, method: "PATCH", path: path, body: row.change}
		if !row.needed {
			d.do(t, bare)
			continue
		}
		bare.status, bare.code, bare.param = 400, "invalid_parameter", "severity_change_reason"
		d.checkUnchanged(t, func() {
			d.do(t, bare)
			for _, reason := range []string{`null`, `""`, `"too short a reason"`, `"                    spaces                    "`} {
				bad := bare
				bad.body = strings.TrimSuffix(row.change, "}") + `,"severity_change_reason":` + reason + "}"
				d.do(t, bad)
			}
		})
		d.do(t, write{method: "PATCH", path: path, body: strings.TrimSuffix(row.change, "}") + `,"severity_change_reason":` + goodReason + "}"})
	}
}

// TestSeverityChange_Evidence checks that each accepted reason is stored with the
// actor, the time and the values before and after, and is in the audit log.
// residual_gap_reason is stored too.
func TestSeverityChange_Evidence(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	path := "/risks/" + d.id(t, "/risks", goodRisk)
	actor := "key:" + findKey(t, d.store, d.key).ID
	d.clock.Advance(1_500_000_000)
	first := stored(d.clock.Now())
	d.do(t, write{method: "PATCH", path: path, body: `{"severity":"LOW","residual_gap_reason":"A standing gap","severity_change_reason":"The exposure was ☂ overestimated."}`})
	d.clock.Advance(1_000_000_000)
	d.do(t, write{method: "PATCH", path: path, body: `{"residual_gap_reason":"A standing gap","severity_change_reason":"Given though none was needed"}`})
	d.checkRows(t, "evidence", "SELECT at, actor, reason, before, after FROM severity_evidence e JOIN risks r ON r.seq = risk_seq WHERE r.id = '"+path[7:]+"' ORDER BY e.seq",
		first+"|"+actor+`|The exposure was ☂ overestimated.|{"severity":"HIGH","residual_severity":"","likelihood":"LIKELY","status":"Open"}|{"severity":"LOW","residual_severity":"","likelihood":"LIKELY","status":"Open"}`,
		stored(d.clock.Now())+"|"+actor+`|Given though none was needed|{"severity":"LOW","residual_severity":"","likelihood":"LIKELY","status":"Open"}|{"severity":"LOW","residual_severity":"","likelihood":"LIKELY","status":"Open"}`)
	d.checkRows(t, "the gap's reason, and when the risk itself changed", "SELECT residual_gap_reason, updated_at FROM risks", "A standing gap|"+first)
	d.checkRows(t, "audit", "SELECT event -> '$.metadata.changes' FROM audit_events WHERE action = 'api.write.risk' ORDER BY seq DESC LIMIT 2",
		`{"severity_change_reason":{"from":null,"to":"Given though none was needed"}}`,
		`{"residual_gap_reason":{"from":null,"to":"A standing gap"},"severity":{"from":"HIGH","to":"LOW"},"severity_change_reason":{"from":null,"to":"The exposure was ☂ overestimated."}}`)
	d.do(t, write{method: "PATCH", path: path, body: `{"residual_gap_reason":null}`})
	d.checkRows(t, "cleared", "SELECT residual_gap_reason FROM risks", "<nil>")
}

// TestRisk_Events checks that an event is stored with its change, with a delivery for
// each matching subscription. A change that fails stores no event. A change without a
// matching subscription stores none either.
func TestRisk_Events(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	d.subscribe(t, `["verdict.changed"]`)
	d.do(t, write{path: "/risks", body: goodRisk, status: 201})
	d.checkRows(t, "no receiver matches", "SELECT count(*) FROM events", "0")
	for _, types := range []string{"[]", `["risk.severity_changed"]`} {
		d.subscribe(t, types)
	}
	made := d.do(t, write{path: "/risks", body: goodRisk, status: 201})
	path := "/risks/" + made["id"].(string)
	risk := func(severity, residual string) string {
		text, _ := json.Marshal(made)
		return strings.NewReplacer(`"severity":"HIGH"`, `"severity":`+severity, `"residual_severity":null`, `"residual_severity":`+residual).Replace(string(text))
	}
	type event struct{ Risk, Previous, Reason json.RawMessage }
	steps := []struct{ change, kind, risk, previous, reason, deliveries string }{
		{"", "risk.created", risk(`"HIGH"`, `null`), "", "", "1"},
		{`{"severity":"CRITICAL"}`, "risk.severity_changed", risk(`"CRITICAL"`, `null`), `{"severity":"HIGH","residual_severity":null}`, "null", "2"},
		{`{"residual_severity":"MEDIUM"}`, "risk.severity_changed", risk(`"CRITICAL"`, `"MEDIUM"`), `{"severity":"CRITICAL","residual_severity":null}`, "null", "2"},
		{`{"severity":"LOW","residual_severity":null,"severity_change_reason":` + goodReason + `}`, "risk.severity_changed", risk(`"LOW"`, `null`), `{"severity":"CRITICAL","residual_severity":"MEDIUM"}`, goodReason, "2"},
		{`{"likelihood":"ALMOST_CERTAIN","title":"other"}`, "", "", "", "", ""},
		{`{"likelihood":"RARE","severity_change_reason":` + goodReason + `}`, "", "", "", "", ""},
		{`{"severity":"LOW"}`, "", "", "", "", ""},
	}
	for i, step := range steps {
		if step.change != "" {
			d.do(t, write{method: "PATCH", path: path, body: step.change})
		}
		last := min(i, 3) + 1
		d.checkRows(t, step.change, "SELECT count(*) FROM events", fmt.Sprint(last))
		if step.kind == "" {
			continue
		}
		d.checkRows(t, step.change, "SELECT type, body ->> 'type', body ->> 'id' = id, body ->> 'created_at' = created_at FROM events ORDER BY seq DESC LIMIT 1", step.kind+"|"+step.kind+"|1|1")
		d.checkRows(t, step.change, "SELECT count(*) FROM unexpanded_deliveries WHERE event_seq = (SELECT max(seq) FROM events)", step.deliveries)
		var got event
		if err := json.Unmarshal([]byte(d.query(t, "SELECT body -> 'data' FROM events ORDER BY seq DESC LIMIT 1")), &got); err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, string(got.Risk), step.risk) || string(got.Previous) != step.previous || string(got.Reason) != step.reason {
			t.Errorf("%s: data %s %s %s, want %v", step.change, got.Risk, got.Previous, got.Reason, step)
		}
	}
	d.checkUnchanged(t, func() {
		d.do(t, write{path: "/risks", body: strings.Replace(goodRisk, "HIGH", "high", 1), status: http.StatusBadRequest, code: "invalid_parameter", param: "severity"})
		d.do(t, write{method: "PATCH", path: path, body: `{"status":"Open","likelihood":"RARE","severity":"X"}`, status: 400, code: "invalid_parameter", param: "severity"})
	})
}

// sameJSON reports whether two texts are the same value.
func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatalf("%v: %s", err, a)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return cmp.Equal(x, y)
}
