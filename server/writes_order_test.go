package server_test

import (
	"fmt"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/server"
)

// TestBody_MediaTypes sends a body with valid and invalid types.
func TestBody_MediaTypes(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	risk := "/risks/" + d.id(t, "/risks", goodRisk)
	for _, kind := range []string{
		"application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", `application/json; charset="utf-8"`,
		"Application/JSON", "application/json ; charset=utf-8", "application/json; profile=x",
	} {
		d.do(t, write{name: kind, path: "/risks", body: goodRisk, header: header("Content-Type", kind), status: 201})
		d.do(t, write{name: kind, method: "PATCH", path: risk, body: `{}`, header: header("Content-Type", kind)})
	}
	d.checkUnchanged(t, func() {
		for _, h := range []map[string]string{
			header("Content-Type", ""), header("Content-Type", "text/plain"), header("Content-Type", "application/x-www-form-urlencoded"),
			header("Content-Type", "multipart/form-data; boundary=x"), header("Content-Type", "application/problem+json"),
			header("Content-Type", "application/merge-patch+json"), header("Content-Type", "text/json"), header("Content-Type", "json"),
			header("Content-Type", "*/*"), header("Content-Type", "application/json, text/plain"),
			header("Content-Type", "application/json; charset=latin1"), header("Content-Type", "application/json; charset=utf-16"),
			header("Content-Type", "application/json; charset"), header("Content-Type", "application/jsonx"),
			header("Content-Encoding", "gzip"), header("Content-Encoding", "br"),
		} {
			for _, w := range []write{{path: "/risks", body: goodRisk}, {method: "PATCH", path: risk, body: `{}`}} {
				w.name, w.header, w.status, w.code = fmt.Sprint(h), h, 415, "unsupported_media_type"
				d.do(t, w)
			}
		}
	})
}

// TestBody_NoMediaType checks that a request without a body may have any Content-Type
// if the body is optional. With a body, the type must be JSON.
func TestBody_NoMediaType(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	d.key = d.service.key(t, "manage:webhooks")
	for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain", "application/json"} {
		withoutBody := row{
			name: kind, method: "POST", path: "/webhooks/subscriptions/00000000-0000-7000-8000-000000000000/test", key: d.key,
			header: header("Content-Type", kind, "Idempotency-Key", "k"), status: 404, code: "not_found",
		}
		d.ask(t, withoutBody)
	}
	d.do(t, write{path: "/webhooks/subscriptions/x/test", body: "{}", header: header("Content-Type", "text/plain"), status: 415, code: "unsupported_media_type"})
}

// padded returns a body of the given number of bytes.
func padded(body string, size int) string { return body + strings.Repeat(" ", size-len(body)) }

// TestBody_Sizes sends bodies at the limit and one byte over it, with and without
// Content-Length.
func TestBody_Sizes(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	load(t, d.store, db.DefaultOrganisation, []db.Record{sample("kpi", "K", 1, start)})
	risk, incident := "/risks/"+d.id(t, "/risks", goodRisk), "/incidents/"+d.id(t, "/incidents", goodIncident)
	vendor := "/vendor/inventory/" + d.id(t, "/vendor/inventory", vendorBody("v0"))
	for _, w := range []struct {
		write
		limit int
	}{
		{write{path: "/risks", body: goodRisk, status: 201}, 65_536},
		{write{method: "PATCH", path: risk, body: `{}`}, 65_536},
		{write{path: "/incidents", body: goodIncident, status: 201}, 65_536},
		{write{method: "PATCH", path: incident, body: `{}`}, 65_536},
		{write{path: "/vendor/inventory", body: vendorBody("v%d"), status: 201}, 65_536},
		{write{method: "PATCH", path: vendor, body: `{}`}, 65_536},
		{write{path: "/kpis/checkins", body: `{"checkins":[{"key_result_code":"K kpi 1","value":1}]}`, status: 201}, 524_288},
	} {
		for i, stream := range []bool{false, true} {
			good := w.write
			good.stream, good.body = stream, padded(strings.Replace(w.body, "v%d", fmt.Sprint("v", i+1), 1), w.limit)
			d.do(t, good)
			long := good
			long.body, long.status, long.code = good.body+" ", 413, "payload_too_large"
			long.has = []string{fmt.Sprint(w.limit)}
			d.checkUnchanged(t, func() { d.do(t, long) })
			long.body = padded(good.body, 10*w.limit)
			d.checkUnchanged(t, func() { d.do(t, long) })
		}
	}
}

// TestBody_RefusedBeforeItIsRead checks that a client that sends its whole body before
// it reads still receives the error response. The test does not run in parallel,
// because the server reads a refused body for at most two seconds.
func TestBody_RefusedBeforeItIsRead(t *testing.T) {
	d := serveWrites(t)
	body := strings.Repeat(" ", 4<<20)
	for name, key := range map[string]string{"401 Unauthorized": "nonsense", "413 Request Entity Too Large": d.key} {
		for _, length := range []string{
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
			fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
			fmt.Sprintf("Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
		} {
			if strings.HasPrefix(length, "Expect") && key != d.key {
				continue // the client does not receive 100 Continue
			}
			got := exchanged(t, d.url, "POST "+server.Base+"/risks HTTP/1.1\r\nAuthorization: Bearer "+key+"\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\n"+length)
			if !strings.HasPrefix(got, name) {
				t.Errorf("%s: %.200q", name, got)
			}
		}
	}
}

// TestWrite_OrderOfChecks sends requests with two errors each. The response reports the
// one that is checked first (contract, section 2).
func TestWrite_OrderOfChecks(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	_, narrow := d.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"write:kpis"}})
	_, spent := d.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: writeScopes, PerMinute: new(1)})
	d.do(t, write{path: "/risks", body: goodRisk, key: spent, status: 201})
	d.do(t, write{path: "/risks", body: goodRisk, idempotencyKey: "used", status: 201})
	id := d.id(t, "/risks", goodRisk)
	d.id(t, "/vendor/inventory", vendorBody("taken"))
	const unknown = "/risks/01990000-0000-7000-8000-000000000000"
	old, form := header("Service-Version", "2020-01-01"), header("Content-Type", "text/plain")
	oldForm := header("Service-Version", "2020-01-01", "Content-Type", "text/plain")
	noKey := header("Idempotency-Key", "")
	big := padded(goodRisk, 65_537)
	good := planTerms{db.Enterprise, db.Active}
	for _, row := range []struct {
		planTerms
		write
	}{
		{planTerms{db.Starter, db.Canceled}, write{name: "credential, then subscription", key: "nonsense", body: big, status: 401, code: "invalid_api_key"}},
		{planTerms{db.Starter, db.PastDue}, write{name: "subscription, then rate", key: spent, status: 403, code: "subscription_inactive"}},
		{planTerms{db.Starter, db.Active}, write{name: "plan, then rate", key: spent, status: 403, code: "tier_required"}},
		{good, write{name: "rate, then version", key: spent, header: old, status: 429, code: "rate_limit_exceeded"}},
		{planTerms{db.Professional, db.Active}, write{name: "version, then feature", path: "/incidents", header: old, status: 400, code: "unsupported_version", param: "Service-Version"}},
		{good, write{name: "version, then scope", key: narrow, header: old, status: 400, code: "unsupported_version", param: "Service-Version"}},
		{planTerms{db.Professional, db.Active}, write{name: "feature, then scope", path: "/incidents", key: narrow, status: 403, code: "tier_required"}},
		{planTerms{db.Professional, db.Active}, write{name: "feature of a change", method: "PATCH", path: "/incidents/x", header: form, status: 403, code: "tier_required"}},
		{good, write{name: "scope, then media type", key: narrow, header: form, status: 403, code: "insufficient_scope", has: []string{"write:risks"}}},
		{good, write{name: "version, then media type", header: oldForm, status: 400, code: "unsupported_version", param: "Service-Version"}},
		{good, write{name: "media type, then size", body: big, header: form, status: 415, code: "unsupported_media_type"}},
		{good, write{name: "media type, then key", header: header("Content-Type", "text/plain", "Idempotency-Key", ""), status: 415, code: "unsupported_media_type"}},
		{good, write{name: "size, then key", body: big, header: noKey, status: 413, code: "payload_too_large"}},
		{good, write{name: "size, then reuse", body: big, idempotencyKey: "used", status: 413, code: "payload_too_large"}},
		{good, write{name: "key, then query", path: "/risks?x=1", header: noKey, status: 400, code: "invalid_parameter", param: "Idempotency-Key"}},
		{good, write{name: "key, then body", body: `{}`, header: noKey, status: 400, code: "invalid_parameter", param: "Idempotency-Key"}},
		{good, write{name: "reuse, then body", body: `nonsense`, idempotencyKey: "used", status: 409, code: "idempotency_key_reused", param: "Idempotency-Key"}},
		{good, write{name: "reuse, then record", method: "PATCH", path: unknown, body: `{}`, idempotencyKey: "used", status: 409, code: "idempotency_key_reused", param: "Idempotency-Key"}},
		{good, write{name: "query, then body", path: "/risks?x=1", body: `{}`, status: 400, code: "invalid_parameter", param: "x"}},
		{good, write{name: "body, then record", method: "PATCH", path: unknown, body: `{"x":1}`, status: 400, code: "invalid_parameter", param: "x"}},
		{good, write{name: "body, then a malformed id", method: "PATCH", path: "/risks/none", body: `{"x":1}`, status: 400, code: "invalid_parameter", param: "x"}},
		{good, write{name: "record, then its rule", method: "PATCH", path: unknown, body: `{"status":"Closed"}`, status: 404, code: "not_found"}},
		{good, write{name: "body, then conflict", path: "/vendor/inventory", body: strings.Replace(vendorBody("taken"), "LOW", "low", 1), status: 400, code: "invalid_parameter", param: "initial_risk_band"}},
		{good, write{name: "conflict", path: "/vendor/inventory", body: vendorBody("taken"), status: 409, code: "resource_conflict", param: "vendor_key"}},
		{good, write{name: "a replay, before the query", path: "/risks?x=1", body: goodRisk, idempotencyKey: "used", status: 201, replayed: true}},
		{good, write{name: "the rule of the record", method: "PATCH", path: "/risks/" + id, body: `{"severity":"LOW"}`, status: 400, code: "invalid_parameter", param: "severity_change_reason"}},
	} {
		if row.path == "" {
			row.path = "/risks"
		}
		if row.body == "" {
			row.body = goodRisk
		}
		d.setPlan(t, row.plan, row.subscription)
		d.checkUnchanged(t, func() { d.do(t, row.write) })
	}
}

// TestWrite_UnknownRecords checks that the record of another organisation, an unknown
// id and a malformed id give the same 404.
func TestWrite_UnknownRecords(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	organisation(t, d.store, "acme")
	_, acme := d.mint(t, "acme", db.KeyDraft{Scopes: writeScopes})
	for path, body := range map[string]string{"/risks": goodRisk, "/incidents": goodIncident, "/vendor/inventory": vendorBody("v")} {
		id := d.id(t, path, body)
		change := write{method: "PATCH", path: path + "/" + id, body: `{"status":"active"}`}
		switch path {
		case "/risks":
			change.body = `{"status":"InProgress"}`
		case "/incidents":
			change.body = `{"status":"contained"}`
		}
		d.checkUnchanged(t, func() {
			foreign := change
			foreign.key, foreign.status, foreign.code = acme, 404, "not_found"
			d.do(t, foreign)
			for _, unknown := range []string{
				"01990000-0000-7000-8000-000000000000", "none", "1", id + "0", id[:35], strings.ReplaceAll(id, "-", ""), "%7B" + id + "%7D", "%00", "%ff",
				"'%20OR%201=1", "RISK-0001", "00000000-0000-0000-0000-000000000000",
			} {
				w := change
				w.path, w.status, w.code = path+"/"+unknown, 404, "not_found"
				d.do(t, w)
			}
		})
		change.path = path + "/" + strings.ToUpper(id) // ids are case-insensitive (RFC 9562)
		d.do(t, change)
	}
	d.verifyAudit(t, "acme")
}
