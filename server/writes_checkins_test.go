package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
)

// serveKpis returns a service with a key result of each frequency, by code, and one of
// the organisation acme. It also returns the ids of all of them.
func serveKpis(t testing.TB) (d *writeService, ids map[string]string) {
	t.Helper()
	d, ids = serveWrites(t), map[string]string{}
	kpi := func(code, frequency string) db.Record {
		r := sample("kpi", code, 1, start.Add(-time.Hour))
		r["code"], r["measurement_frequency"] = code, frequency
		return r
	}
	load(t, d.store, db.DefaultOrganisation, []db.Record{kpi("W", "weekly"), kpi("M", "monthly"), kpi("Q", "quarterly"), kpi("A", "annual")})
	load(t, d.store, "acme", []db.Record{kpi("M", "monthly"), kpi("FOREIGN", "monthly")})
	for line := range strings.Lines(d.query(t, "SELECT o.name || '/' || code, k.id FROM kpis k JOIN organisations o ON o.seq = org_id")) {
		code, id, _ := strings.Cut(strings.TrimSpace(line), "|")
		ids[strings.TrimPrefix(code, "default/")] = id
	}
	return d, ids
}

// batch returns a write of points, each the members of one.
func batch(points ...string) write {
	return write{path: "/kpis/checkins", body: `{"checkins":[{` + strings.Join(points, "},{") + `}]}`, status: 201}
}

func (w write) refused(status int, code, param string) write {
	w.status, w.code, w.param = status, code, param
	return w
}

// points returns the check-ins of an answer.
func points(t testing.TB, r db.Record) []map[string]any {
	t.Helper()
	list, _ := r["checkins"].([]any)
	all := make([]map[string]any, len(list))
	for i := range list {
		all[i], _ = list[i].(map[string]any)
	}
	return all
}

// current selects the value, its date and the last change of each key result.
const current = "SELECT code, current_value, current_as_of, updated_at FROM kpis WHERE org_id = 1 AND current_value IS NOT NULL ORDER BY code"

// TestCheckins_Response checks that the response has an entry for each point, in the
// order of the request, with the default values.
func TestCheckins_Response(t *testing.T) {
	t.Parallel()
	d, ids := serveKpis(t)
	now := stored(start)
	got := d.do(t, batch(
		`"key_result_code":"M","value":82.5,"period_start":"2026-09-01","source":"manual","evidence_ref":"E","note":"N"`,
		`"key_result_id":"`+strings.ToUpper(ids["Q"])+`","value":-1e2`,
		`"key_result_id":"`+ids["W"]+`","key_result_code":"W","value":0,"period_start":"2026-09-30T23:30:00-02:00"`,
	))
	list := points(t, got)
	want := []map[string]any{
		{"key_result_id": ids["M"], "key_result_code": "M", "value": json.Number("82.5"), "period_start": "2026-09-01", "source": "manual", "evidence_ref": "E", "note": "N"},
		{"key_result_id": ids["Q"], "key_result_code": "Q", "value": json.Number("-100"), "period_start": "2026-10-01", "source": "api", "evidence_ref": nil, "note": nil},
		{"key_result_id": ids["W"], "key_result_code": "W", "value": json.Number("0"), "period_start": "2026-10-01", "source": "api", "evidence_ref": nil, "note": nil},
	}
	for i := range want {
		want[i]["object"], want[i]["created_at"], want[i]["id"] = "kpi_checkin", now, list[i]["id"]
	}
	if diff := cmp.Diff(want, list); diff != "" || got["object"] != "kpi_checkin_batch" || got["accepted"] != json.Number("3") {
		t.Errorf("%v %v (-want +got):\n%s", got["object"], got["accepted"], diff)
	}
	d.checkRows(t, "current values", current, "M|82.5|2026-09-01T00:00:00.000Z|"+now, "Q|-100|2026-10-01T00:00:00.000Z|"+now, "W|0|2026-10-01T00:00:00.000Z|"+now)
	if listed := d.get(t, "/kpis?code=M", d.key).page(t).Data[0]; listed["current_value"] != json.Number("82.5") || listed["updated_at"] != now {
		t.Errorf("listed as %v", listed)
	}
}

// TestCheckins_DefaultPeriod checks that the default period starts on the first day of the
// current period of the frequency, by the service's clock in UTC.
func TestCheckins_DefaultPeriod(t *testing.T) {
	t.Parallel()
	d, _ := serveKpis(t)
	for _, row := range []struct{ now, w, m, q, a string }{
		{"2026-10-01T12:00:00Z", "2026-09-28", "2026-10-01", "2026-10-01", "2026-01-01"}, // a Thursday
		{"2026-10-04T23:59:59Z", "2026-09-28", "2026-10-01", "2026-10-01", "2026-01-01"}, // a Sunday
		{"2026-10-05T00:00:00Z", "2026-10-05", "2026-10-01", "2026-10-01", "2026-01-01"},
		{"2026-12-31T23:59:59Z", "2026-12-28", "2026-12-01", "2026-10-01", "2026-01-01"},
		{"2027-01-01T00:30:00Z", "2026-12-28", "2027-01-01", "2027-01-01", "2027-01-01"},
		{"2027-01-01T01:30:00+02:00", "2026-12-28", "2026-12-01", "2026-10-01", "2026-01-01"}, // 2026 in UTC
		{"2028-02-29T00:00:00Z", "2028-02-28", "2028-02-01", "2028-01-01", "2028-01-01"},
	} {
		at, err := time.Parse(time.RFC3339, row.now)
		if err != nil {
			t.Fatal(err)
		}
		d.clock.Advance(at.Sub(d.clock.Now()))
		list := points(t, d.do(t, batch(`"key_result_code":"W","value":1`, `"key_result_code":"M","value":1`, `"key_result_code":"Q","value":1`, `"key_result_code":"A","value":1`)))
		for i, want := range []string{row.w, row.m, row.q, row.a} {
			if list[i]["period_start"] != want {
				t.Errorf("at %s: %v, want %s", row.now, list[i], want)
			}
		}
	}
}

// TestCheckins_BatchSize checks that a batch has 1 to 500 points.
func TestCheckins_BatchSize(t *testing.T) {
	t.Parallel()
	d, _ := serveKpis(t)
	many := make([]string, 501)
	for i := range many {
		many[i] = fmt.Sprintf(`"key_result_code":"W","value":%d,"period_start":"%s"`, i, start.AddDate(0, 0, i-500).Format(time.DateOnly))
	}
	d.checkUnchanged(t, func() {
		d.do(t, write{path: "/kpis/checkins", body: `{"checkins":[]}`, status: 400, code: "invalid_parameter", param: "checkins"})
		d.do(t, batch(many...).refused(400, "invalid_parameter", "checkins"))
	})
	d.do(t, batch(many[0]))
	if got := d.do(t, batch(many[:500]...)); got["accepted"] != json.Number("500") || len(points(t, got)) != 500 {
		t.Errorf("accepted %v, %d entries", got["accepted"], len(points(t, got)))
	}
	d.checkRows(t, "kept", "SELECT count(*), sum(value), (SELECT count(*) FROM audit_events WHERE action = 'api.write.kpi_checkin') FROM kpi_checkins", "500|124750|2")
}

// TestCheckins_NameInvalidPoint checks that the error names an invalid point by its
// index, and that nothing is written.
func TestCheckins_NameInvalidPoint(t *testing.T) {
	t.Parallel()
	d, ids := serveKpis(t)
	const good = `"key_result_code":"M","value":1`
	for _, row := range []struct {
		point  string
		status int
		param  string
	}{
		{`"value":1`, 400, ""},
		{`"key_result_code":"M"`, 400, ".value"},
		{`"key_result_code":"M","value":null`, 400, ".value"},
		{`"key_result_code":"M","value":"1"`, 400, ".value"},
		{`"key_result_code":"M","value":1e999`, 400, ".value"},
		{`"key_result_code":"M","value":NaN`, 400, ".value"},
		{`"key_result_code":null,"value":1`, 400, ".key_result_code"},
		{`"key_result_id":"M","value":1`, 400, ".key_result_id"},
		{`"key_result_id":null,"key_result_code":"M","value":1`, 400, ".key_result_id"},
		{`"key_result_code":"M","value":1,"period_start":"2026-02-30"`, 400, ".period_start"},
		{`"key_result_code":"M","value":1,"source":" "`, 400, ".source"},
		{`"key_result_code":"M","value":1,"sauce":"x"`, 400, ".sauce"},
		{`"key_result_code":"M","value":1,"value":2`, 400, ".value"},
		{`"key_result_code":"X","value":1`, 404, ".key_result_code"},
		{`"key_result_code":"m","value":1`, 404, ".key_result_code"},
		{`"key_result_code":"FOREIGN","value":1`, 404, ".key_result_code"},
		{`"key_result_id":"` + ids["acme/M"] + `","value":1`, 404, ".key_result_id"},
		{`"key_result_id":"` + ids["acme/M"] + `","key_result_code":"M","value":1`, 404, ".key_result_id"},
		{`"key_result_id":"01990000-0000-7000-8000-000000000000","value":1`, 404, ".key_result_id"},
		{`"key_result_id":"` + ids["M"] + `","key_result_code":"Q","value":1`, 400, ".key_result_code"},
		{`"key_result_id":"` + ids["M"] + `","key_result_code":"X","value":1`, 400, ".key_result_code"},
	} {
		code := map[int]string{400: "invalid_parameter", 404: "not_found"}[row.status]
		d.checkUnchanged(t, func() {
			d.do(t, batch(row.point).refused(row.status, code, "checkins[0]"+row.param))
			d.do(t, batch(good, good, row.point, good).refused(row.status, code, "checkins[2]"+row.param))
		})
	}
	d.checkRows(t, "nothing is kept", "SELECT count(*) FROM kpi_checkins", "0")
}

// TestCheckins_ReplacePoints checks that a key result has one value for each period. A
// later point replaces an earlier one, in the same batch or another.
func TestCheckins_ReplacePoints(t *testing.T) {
	t.Parallel()
	d, ids := serveKpis(t)
	first := points(t, d.do(t, batch(
		`"key_result_code":"M","value":1,"period_start":"2026-09-01","note":"N","evidence_ref":"E","source":"manual"`,
		`"key_result_id":"`+ids["M"]+`","value":2,"period_start":"2026-09-01T10:00:00Z","note":"N2"`,
	)))
	if first[0]["id"] != first[1]["id"] || first[0]["value"] != json.Number("1") || first[1]["value"] != json.Number("2") {
		t.Errorf("in one batch: %v", first)
	}
	d.clock.Advance(time.Minute)
	second := points(t, d.do(t, batch(`"key_result_code":"M","value":3,"period_start":"2026-09-01"`)))
	if second[0]["id"] != first[0]["id"] || second[0]["created_at"] != stored(start) {
		t.Errorf("across: %v, want the id and the creation of %v", second[0], first[0])
	}
	d.checkRows(t, "kept", "SELECT value, period_start, source, evidence_ref, note, created_at, updated_at FROM kpi_checkins",
		"3|2026-09-01|api|<nil>|<nil>|"+stored(start)+"|"+stored(d.clock.Now()))
	d.checkRows(t, "current", current, "M|3|2026-09-01T00:00:00.000Z|"+stored(d.clock.Now()))
}

// TestCheckins_LatestPeriod checks that current_value is the value of the latest
// period. A point of an earlier period does not change it, but is stored as an actual
// value.
func TestCheckins_LatestPeriod(t *testing.T) {
	t.Parallel()
	d, _ := serveKpis(t)
	for _, step := range []struct{ points, value, asOf string }{
		{`"key_result_code":"M","value":5,"period_start":"2026-06-01"`, "5", "2026-06-01"},
		{`"key_result_code":"M","value":4,"period_start":"2026-05-01"`, "5", "2026-06-01"},
		{`"key_result_code":"M","value":6,"period_start":"2026-06-01"`, "6", "2026-06-01"},
		{`"key_result_code":"M","value":8,"period_start":"2026-08-01"},{"key_result_code":"M","value":7,"period_start":"2026-07-01"`, "8", "2026-08-01"},
		{`"key_result_code":"M","value":0,"period_start":"0001-01-01"`, "8", "2026-08-01"},
		{`"key_result_code":"M","value":12,"period_start":"2026-12-01"`, "12", "2026-12-01"}, // a future period
		{`"key_result_code":"M","value":10`, "12", "2026-12-01"},
		{`"key_result_code":"M","value":1,"period_start":"2027-01-01T00:00:00+01:00"`, "1", "2026-12-31"}, // the date in UTC
		{`"key_result_code":"M","value":99,"period_start":"9999-12-31"`, "99", "9999-12-31"},
	} {
		d.clock.Advance(time.Second)
		d.do(t, batch(step.points))
		d.checkRows(t, step.points, current, "M|"+step.value+"|"+step.asOf+"T00:00:00.000Z|"+stored(d.clock.Now()))
	}
}

// TestCheckins_LatestPeriodConcurrently adds points of earlier periods from many
// goroutines. The current value remains that of the latest period.
func TestCheckins_LatestPeriodConcurrently(t *testing.T) {
	t.Parallel()
	d, _ := serveKpis(t)
	const seed = 7
	days := rand.New(rand.NewPCG(seed, seed)).Perm(64)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 8 {
				day := days[worker*8+i]
				d.do(t, batch(fmt.Sprintf(`"key_result_code":"W","value":%d,"period_start":"%s"`, day, start.AddDate(0, 0, day).Format(time.DateOnly))))
			}
		})
	}
	group.Wait()
	d.checkRows(t, "current", current, "W|63|"+stored(start.Truncate(24*time.Hour).AddDate(0, 0, 63))+"|"+stored(start))
	d.checkRows(t, "points", "SELECT count(*), sum(value) FROM kpi_checkins", fmt.Sprintf("64|%d", 63*64/2))
	d.verifyAudit(t, db.DefaultOrganisation)
}
