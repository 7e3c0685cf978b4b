package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"govsvc/db"
)

// TestWrite_UnchangedRecord checks that a PATCH with the stored values is a 200. It
// changes no record and writes no audit event. With an Idempotency-Key, its response is
// still stored.
func TestWrite_UnchangedRecord(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	risk := "/risks/" + d.id(t, "/risks", `{"title":"T","description":"A description of enough length.","severity":"HIGH","likelihood":"LIKELY","target_date":"2026-12-31"}`)
	incident := "/incidents/" + d.id(t, "/incidents", `{"title":"T","notification_required":true,"notification_deadline":"2026-10-03T00:00:00Z"}`)
	vendor := "/vendor/inventory/" + d.id(t, "/vendor/inventory", strings.Replace(vendorBody("v"), "}", `,"annual_cost_usd":100}`, 1))
	d.clock.Advance(time.Hour)
	for path, bodies := range map[string][]string{
		risk: {
			`{}`, `{"title":"T"}`, `{"severity":"HIGH","likelihood":"LIKELY","status":"Open"}`, `{"residual_severity":null,"owner_name":null}`,
			`{"target_date":"2026-12-31"}`, `{"residual_gap_reason":null,"mitigation_action":null,"severity_change_reason":null}`,
		},
		incident: {
			`{}`, `{"title":"T","status":"open","severity":"medium","incident_type":"other"}`, `{"owner":null,"description":null}`,
			`{"notification_required":true}`, `{"notification_deadline":"2026-10-03T02:00:00+02:00"}`,
		},
		vendor: {`{}`, `{"status":"active"}`, `{"annual_cost_usd":100}`, `{"annual_cost_usd":1e2}`, `{"annual_cost_usd":100.0,"notes":null,"contract_end":null}`},
	} {
		for i, body := range bodies {
			w := write{method: "PATCH", path: path, body: body, header: header("Idempotency-Key", "")}
			d.checkUnchanged(t, func() { d.do(t, w) })
			w.header, w.idempotencyKey = nil, fmt.Sprint(path[:8], i)
			first := d.send(t, w)
			d.check(t, w, first)
			w.replayed = true
			if again := d.send(t, w); string(again.body) != string(first.body) {
				t.Errorf("%s: replayed as %s, want %s", w.about(), again.body, first.body)
			} else {
				d.check(t, w, again)
			}
		}
	}
	d.checkRows(t, "events", "SELECT count(*) FROM audit_events WHERE action LIKE 'api.write.%'", "3")
}

// TestCheckins_Repeated checks that a batch of points that are all stored already is a
// 201. It changes no record and writes no audit event. If only some points are stored,
// only the others are written.
func TestCheckins_Repeated(t *testing.T) {
	t.Parallel()
	d, _ := serveKpis(t)
	const m, q = `"key_result_code":"M","value":82.5,"period_start":"2026-09-01","note":"N"`, `"key_result_code":"Q","value":7`
	d.do(t, batch(m, q))
	d.clock.Advance(time.Hour)
	before := d.query(t, "SELECT code, updated_at FROM kpis ORDER BY seq")
	for _, w := range []write{batch(m, q), batch(q), batch(m, m), batch(`"key_result_code":"Q","value":7.0,"source":"api"`)} {
		const data = "SELECT (SELECT count(*) FROM audit_events), (SELECT group_concat(updated_at || value) FROM kpi_checkins), (SELECT group_concat(updated_at) FROM kpis)"
		was := d.query(t, data)
		d.do(t, w)
		if is := d.query(t, data); is != was {
			t.Errorf("%s: the file changed from %s to %s", w.about(), was, is)
		}
	}
	d.do(t, batch(m, `"key_result_code":"Q","value":8`))
	after := d.query(t, "SELECT code, updated_at FROM kpis ORDER BY seq")
	if before == after || !strings.Contains(after, "M|"+stored(start)) {
		t.Errorf("of two key results one has changed, the other at %s: %s", stored(start), after)
	}
	changes := d.query(t, "SELECT json_extract(event, '$.metadata.changes') FROM audit_events WHERE action = 'api.write.kpi_checkin' ORDER BY seq DESC LIMIT 1")
	if !strings.Contains(changes, "Q ") || strings.Contains(changes, "M ") {
		t.Errorf("the event has the changes %s, want only the changed key result", changes)
	}
}

// TestWrite_Audit checks that each change has one audit event, with each field, the
// actor and the request.
func TestWrite_Audit(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	load(t, d.store, db.DefaultOrganisation, []db.Record{sample("kpi", "K", 1, start)})
	actor := "key:" + findKey(t, d.store, d.key).ID
	made := map[string]string{}
	for _, step := range []struct {
		write
		object  string
		changes string
	}{
		{write{path: "/risks", body: goodRisk, status: 201}, "risk", `{"description":{"from":null,"to":"A description of enough length."},"dimension":{"from":null,"to":"OTHER"},
			"likelihood":{"from":null,"to":"LIKELY"},"risk_id":{"from":null,"to":"RISK-0001"},"severity":{"from":null,"to":"HIGH"},
			"source":{"from":null,"to":"user_added"},"status":{"from":null,"to":"Open"},"title":{"from":null,"to":"T"}}`},
		{
			write{method: "PATCH", path: "/risks/", body: `{"title":null,"status":"Open","mitigation_action":"<b>&"}`},
			"risk",
			`{"mitigation_action":{"from":null,"to":"<b>&"},"title":{"from":"T","to":null}}`,
		},
		{
			write{path: "/incidents", body: `{"title":"T","notification_required":true}`, status: 201},
			"incident",
			`{"incident_key":{"from":null,"to":"INC-0001"},"incident_type":{"from":null,"to":"other"},"notification_deadline":{"from":null,"to":"2026-10-04T12:00:00.000Z"},
			"notification_required":{"from":null,"to":true},"severity":{"from":null,"to":"medium"},"status":{"from":null,"to":"open"},"title":{"from":null,"to":"T"}}`,
		},
		{
			write{method: "PATCH", path: "/incidents/", body: `{"status":"closed","notification_required":false}`},
			"incident",
			`{"notification_required":{"from":true,"to":false},"status":{"from":"open","to":"closed"}}`,
		},
		{
			write{path: "/vendor/inventory", body: strings.Replace(vendorBody("v"), "}", `,"annual_cost_usd":9007199254740993,"notes":"N"}`, 1), status: 201},
			"vendor",
			`{"annual_cost_usd":{"from":null,"to":9007199254740993},"category":{"from":null,"to":"C"},"initial_risk_band":{"from":null,"to":"LOW"},
			"notes":{"from":null,"to":"N"},"status":{"from":null,"to":"active"},"vendor_key":{"from":null,"to":"v"},"vendor_name":{"from":null,"to":"N"}}`,
		},
		{
			write{method: "PATCH", path: "/vendor/inventory/", body: `{"annual_cost_usd":9007199254740992}`},
			"vendor",
			`{"annual_cost_usd":{"from":9007199254740993,"to":9007199254740992}}`,
		},
		{
			write{path: "/kpis/checkins", body: `{"checkins":[{"key_result_code":"K kpi 1","value":1,"period_start":"2026-09-01"},{"key_result_code":"K kpi 1","value":2,"period_start":"2026-09-08"}]}`, status: 201},
			"kpi_checkin", `{"K kpi 1 2026-09-01":{"from":null,"to":1},"K kpi 1 2026-09-08":{"from":null,"to":2}}`,
		},
		{
			write{path: "/kpis/checkins", body: `{"checkins":[{"key_result_code":"K kpi 1","value":3,"period_start":"2026-09-08"},{"key_result_code":"K kpi 1","value":4.5,"period_start":"2026-09-08"}]}`, status: 201},
			"kpi_checkin", `{"K kpi 1 2026-09-08":{"from":2,"to":4.5}}`,
		},
	} {
		step.path += strings.TrimPrefix(made[step.object], "-")
		if step.method == "" {
			step.path = strings.TrimSuffix(step.path, made[step.object])
		}
		before := d.query(t, "SELECT count(*) FROM audit_events")
		a := d.send(t, step.write)
		record := d.check(t, step.write, a)
		id := "<nil>"
		if step.object != "kpi_checkin" {
			id = record["id"].(string)
			made[step.object] = id
		}
		d.checkRows(t, step.about(), "SELECT count(*) - 1 FROM audit_events", before)
		d.checkRows(t, step.about(), `SELECT time, actor, action, event ->> 'category', event ->> 'severity', event ->> 'resource_type', resource_id, event ->> '$.metadata.request_id'
			FROM audit_events ORDER BY seq DESC LIMIT 1`,
			strings.Join([]string{stored(start), actor, "api.write." + step.object, "data_change", "3", step.object, id, a.header.Get("X-Request-Id")}, "|"))
		want := strings.NewReplacer("\n", "", "\t", "").Replace(step.changes)
		d.checkRows(t, step.about(), "SELECT event -> '$.metadata.changes' FROM audit_events ORDER BY seq DESC LIMIT 1", want)
	}
	d.verifyAudit(t, db.DefaultOrganisation)
}
