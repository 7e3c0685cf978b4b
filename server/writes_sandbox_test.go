package server_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"govsvc/db"
)

// serveSandboxWrites returns a service whose default credential is a test key.
func serveSandboxWrites(t testing.TB) (d *writeService, acme string) {
	t.Helper()
	d = serveWrites(t, withSandbox(openSandbox(t)))
	draft := db.KeyDraft{Kind: db.TestKey, Scopes: append(writeScopes, "read:all"), PerMinute: new(100_000)}
	_, acme = d.mint(t, "acme", draft)
	_, d.key = d.mint(t, db.DefaultOrganisation, draft)
	return d, acme
}

var reserved = regexp.MustCompile(`^00000000-0000-0000-0000-\d{12}$`)

// TestSandbox_Writes runs several tests on one sandbox, because it takes a while to
// fill.
func TestSandbox_Writes(t *testing.T) {
	t.Parallel()
	d, acme := serveSandboxWrites(t)
	t.Run("kept nowhere", func(t *testing.T) { sandboxWrites(t, d) })
	t.Run("rule", func(t *testing.T) { sandboxRule(t, d) })
	t.Run("replay", func(t *testing.T) { sandboxReplay(t, d, acme) })
}

// sandboxWrites checks that writes are validated and answered as live ones. Ids are of
// the reserved range, texts are marked, and nothing is stored in the sandbox or in the
// live file.
func sandboxWrites(t *testing.T, d *writeService) {
	t.Helper()
	lists := func() (all string) {
		for _, path := range []string{"/risks", "/incidents", "/kpis", "/vendor/inventory"} {
			all += string(d.get(t, path+"?limit=100", d.key).body)
		}
		return all
	}
	before := lists()
	first := func(path string) db.Record { return d.get(t, path, d.key).page(t).Data[0] }
	risk, incident, kpi, vendor := first("/risks")["id"], first("/incidents")["id"], first("/kpis"), first("/vendor/inventory")
	sourced := batch(fmt.Sprintf(`"key_result_id":"%s","value":1,"note":"N","source":"manual"`, kpi["id"]))
	sourced.has = append(sourced.has, `"source":"manual"`, `"note":"[SANDBOX] N"`)
	d.checkUnchanged(t, func() {
		for range 2 { // the second request must find nothing stored
			for _, w := range []write{
				{path: "/risks", body: goodRisk, status: 201, has: []string{`"description":"[SANDBOX] A description`, `"dimension":"OTHER"`, `"source":"user_added"`}},
				{path: "/risks", body: strings.Replace(goodRisk, "A desc", "[SANDBOX] A desc", 1), status: 201, not: []string{"[SANDBOX] [SANDBOX]"}},
				{method: "PATCH", path: fmt.Sprint("/risks/", risk), body: `{"owner_name":"O"}`, has: []string{`"owner_name":"[SANDBOX] O"`}},
				{path: "/incidents", body: goodIncident, status: 201, has: []string{`"title":"[SANDBOX] T"`}},
				{method: "PATCH", path: fmt.Sprint("/incidents/", incident), body: `{"owner":"O","status":"closed"}`, has: []string{`"owner":"[SANDBOX] O"`, `"status":"closed"`}},
				{path: "/vendor/inventory", body: vendorBody("fresh"), status: 201, has: []string{`"vendor_name":"[SANDBOX] N"`, `"vendor_key":"fresh"`}},
				{method: "PATCH", path: fmt.Sprint("/vendor/inventory/", vendor["id"]), body: `{"annual_cost_usd":7}`, has: []string{`"annual_cost_usd":7`}},
				sourced,
			} {
				w.has = append(w.has, "Service-Environment: test\r")
				a := d.send(t, w)
				if id, shown := d.check(t, w, a)["id"].(string); shown && !reserved.MatchString(id) {
					t.Errorf("%s: id %s", w.about(), id)
				}
			}
		}
		for _, w := range []write{
			{path: "/risks", body: `{}`, status: 400, code: "invalid_parameter", param: "title"},
			{path: "/risks", body: strings.Replace(goodRisk, "A description of enough length.", "short", 1), status: 400, code: "invalid_parameter", param: "description"},
			{method: "PATCH", path: "/risks/00000000-0000-0000-0000-999999999999", body: `{}`, status: 404, code: "not_found"},
			{path: "/vendor/inventory", body: vendorBody(vendor["vendor_key"].(string)), status: 409, code: "resource_conflict", param: "vendor_key"},
			batch(`"key_result_code":"none","value":1`).refused(404, "not_found", "checkins[0].key_result_code"),
			{path: "/risks", body: goodRisk, header: header(keyed, ""), status: 400, code: "invalid_parameter", param: keyed},
		} {
			w.has = []string{"Service-Environment: test\r"}
			d.do(t, w)
		}
	})
	if lists() != before {
		t.Error("the sandbox changed")
	}
}

// sandboxRule checks that the rule of severity_change_reason also applies in the
// sandbox.
func sandboxRule(t *testing.T, d *writeService) {
	t.Helper()
	page := d.get(t, "/risks?severity=CRITICAL&status=Open", d.key).page(t)
	w := write{method: "PATCH", path: fmt.Sprint("/risks/", page.Data[0]["id"]), body: `{"status":"Closed"}`}
	bad := w
	bad.status, bad.code, bad.param = 400, "invalid_parameter", "severity_change_reason"
	d.do(t, bad)
	w.body = `{"status":"Closed","severity_change_reason":` + goodReason + `}`
	d.do(t, w)
}

// sandboxReplay checks that an Idempotency-Key belongs to one organisation and
// environment, for 24 hours by the service's clock.
func sandboxReplay(t *testing.T, d *writeService, acme string) {
	t.Helper()
	live := d.service.key(t, writeScopes...)
	w := write{path: "/risks", body: goodRisk, idempotencyKey: "k", status: 201}
	first := d.send(t, w)
	d.check(t, w, first)
	again := w
	again.replayed = true
	d.sameAgain(t, again, first)
	w.key = acme
	d.do(t, w)
	w.key = live
	d.do(t, w)
	reused := write{path: "/incidents", body: goodIncident, idempotencyKey: "k", status: 409, code: "idempotency_key_reused", param: keyed}
	for _, key := range []string{d.key, acme, live} {
		reused.key = key
		d.do(t, reused)
	}
	d.clock.Advance(24 * time.Hour)
	reused.key, reused.status, reused.code, reused.param = d.key, 201, "", ""
	d.do(t, reused)
}
