package server_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
)

const timeline = "SELECT at, status, note, actor LIKE 'key:%' FROM incident_timeline ORDER BY seq"

// TestCreateIncident_Response checks a new incident with default values, and one with every
// member given.
func TestCreateIncident_Response(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	now := stored(start)
	bare := d.do(t, write{path: "/incidents", body: `{"title":"T"}`, status: 201})
	full := d.do(t, write{path: "/incidents", body: `{"title":"U","description":"D","incident_type":"bias_harm","severity":"critical","status":"contained",
		"affected_systems":"A","jurisdictions":"EU","owner":"O","notification_required":true,"notification_deadline":"2026-10-03T02:00:00+02:00"}`, status: 201})
	want := []db.Record{
		{
			"object": "incident", "id": bare["id"], "title": "T", "description": nil, "incident_type": "other", "severity": "medium", "status": "open",
			"affected_systems": nil, "jurisdictions": nil, "owner": nil, "notification_required": false, "notification_deadline": nil,
			"notified_at": nil, "created_at": now, "updated_at": now,
		},
		{
			"object": "incident", "id": full["id"], "title": "U", "description": "D", "incident_type": "bias_harm", "severity": "critical", "status": "contained",
			"affected_systems": "A", "jurisdictions": "EU", "owner": "O", "notification_required": true, "notification_deadline": "2026-10-03T00:00:00.000Z",
			"notified_at": nil, "created_at": now, "updated_at": now,
		},
	}
	if diff := cmp.Diff(want, []db.Record{bare, full}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.checkRows(t, "timelines", timeline, now+"|open|Incident declared|1", now+"|contained|Incident declared|1")
}

// TestIncident_Timeline checks that the timeline has every change of status, and nothing
// else.
func TestIncident_Timeline(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	path := "/incidents/" + d.id(t, "/incidents", goodIncident)
	lines := []string{stored(start) + "|open|Incident declared|1"}
	for _, step := range []struct {
		body, status string // the status in the timeline
		moves        bool
	}{
		{`{"status":"investigating"}`, "investigating", true},
		{`{"status":"investigating","owner":"O"}`, "", true},
		{`{"status":"investigating"}`, "", false},
		{`{"severity":"high"}`, "", true},
		{`{}`, "", false},
		{`{"status":"closed","title":"Other"}`, "closed", true},
		{`{"status":"open"}`, "open", true}, // every transition is allowed
		{`{"description":null,"owner":null}`, "", true},
	} {
		d.clock.Advance(time.Second)
		now := stored(d.clock.Now())
		before := d.query(t, "SELECT updated_at FROM incidents")
		got := d.do(t, write{method: "PATCH", path: path, body: step.body})
		if step.status != "" {
			lines = append(lines, now+"|"+step.status+"|<nil>|1")
		}
		if !step.moves {
			now = before
		}
		if got["updated_at"] != now {
			t.Errorf("%s: updated_at %v, want %s", step.body, got["updated_at"], now)
		}
		d.checkRows(t, step.body, timeline, lines...)
	}
	d.checkUnchanged(t, func() {
		d.do(t, write{method: "PATCH", path: path, body: `{"status":"contained","severity":"worst"}`, status: 400, code: "invalid_parameter", param: "severity"})
	})
}

// TestIncident_TitleHasOneLine checks that a title has one line. White space at its ends is
// removed.
func TestIncident_TitleHasOneLine(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	path := "/incidents/" + d.id(t, "/incidents", goodIncident)
	for _, title := range []string{`a\nb`, `a\rb`, `a\r\nb`, `a\u2028b`, `a\u0085b`} {
		body := `{"title":"` + title + `"}`
		d.checkUnchanged(t, func() {
			d.do(t, write{path: "/incidents", body: body, status: 400, code: "invalid_parameter", param: "title"})
			d.do(t, write{method: "PATCH", path: path, body: body, status: 400, code: "invalid_parameter", param: "title"})
		})
	}
	d.do(t, write{path: "/incidents", body: `{"title":"a\tb\n"}`, status: 201})
}

// TestIncident_NotificationDeadline checks that the deadline is 72 hours after the
// declaration unless the request has another one.
func TestIncident_NotificationDeadline(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	const declared, given = "2026-10-04T12:00:00.000Z", "2027-01-01T00:00:00.000Z"
	for _, row := range []struct {
		create  string
		changes []string // the changes after a day
		want    any
		moved   bool // whether the last change moves the deadline
	}{
		{`{"title":"T"}`, nil, nil, false},
		{`{"title":"T","notification_required":false}`, nil, nil, false},
		{`{"title":"T","notification_required":true}`, nil, declared, false},
		{`{"title":"T","notification_required":true,"notification_deadline":null}`, nil, declared, false},
		{`{"title":"T","notification_required":true,"notification_deadline":"` + given + `"}`, nil, given, false},
		{`{"title":"T","notification_deadline":"` + given + `"}`, nil, given, false},
		{`{"title":"T"}`, []string{`{"notification_required":true}`}, declared, true},
		{`{"title":"T"}`, []string{`{"notification_required":true,"notification_deadline":"` + given + `"}`}, given, true},
		{`{"title":"T"}`, []string{`{"notification_required":true,"notification_deadline":null}`}, declared, true},
		{`{"title":"T","notification_deadline":"` + given + `"}`, []string{`{"notification_required":true}`}, given, true},
		{`{"title":"T","notification_required":true}`, []string{`{"notification_required":true}`}, declared, false},
		{`{"title":"T","notification_required":true}`, []string{`{"notification_deadline":null}`}, declared, false},
		{`{"title":"T","notification_required":true}`, []string{`{"notification_deadline":"` + given + `"}`}, given, true},
		{`{"title":"T","notification_required":true}`, []string{`{"notification_deadline":"` + given + `"}`, `{"notification_deadline":null}`}, declared, true},
		{`{"title":"T","notification_required":true}`, []string{`{"notification_required":false}`}, declared, true},
		{`{"title":"T","notification_required":true}`, []string{`{"notification_required":false,"notification_deadline":null}`}, nil, true},
		{`{"title":"T","notification_required":true}`, []string{`{"notification_required":false,"notification_deadline":null}`, `{"notification_required":true}`}, declared, true},
		{`{"title":"T"}`, []string{`{"notification_deadline":null}`}, nil, false},
	} {
		now := d.do(t, write{path: "/incidents", body: row.create, status: 201})
		d.clock.Advance(24 * time.Hour)
		for i, change := range row.changes {
			before := d.query(t, "SELECT count(*) FROM audit_events")
			now = d.do(t, write{method: "PATCH", path: "/incidents/" + now["id"].(string), body: change})
			if moved := now["updated_at"] == stored(d.clock.Now()); i == len(row.changes)-1 && moved != row.moved {
				t.Errorf("%s %v: moved %v", row.create, row.changes, moved)
			}
			if audited := before != d.query(t, "SELECT count(*) FROM audit_events"); i == len(row.changes)-1 && audited != row.moved {
				t.Errorf("%s %v: audited %v", row.create, row.changes, audited)
			}
		}
		if now["notification_deadline"] != row.want {
			t.Errorf("%s %v: deadline %v, want %v", row.create, row.changes, now["notification_deadline"], row.want)
		}
		if diff := cmp.Diff(d.get(t, "/incidents", d.key).page(t).Data[:1], []map[string]any{now}); diff != "" {
			t.Errorf("the list differs from the answer:\n%s", diff)
		}
		d.clock.Advance(-24 * time.Hour)
	}
}
