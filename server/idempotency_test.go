package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
	"govsvc/server"
)

const keyed = "Idempotency-Key"

// TestIdempotencyKey_Forms checks that an Idempotency-Key is required on a POST and
// optional on a PATCH. It has 1 to 255 printable ASCII characters.
func TestIdempotencyKey_Forms(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	posts := map[string]string{"/risks": goodRisk, "/incidents": goodIncident, "/vendor/inventory": vendorBody("v"), "/kpis/checkins": `{}`}
	d.checkUnchanged(t, func() {
		for path, body := range posts {
			d.do(t, write{path: path, body: body, header: header(keyed, ""), status: 400, code: "invalid_parameter", param: keyed})
		}
	})
	risk := "/risks/" + d.id(t, "/risks", goodRisk)
	for _, key := range []string{"x", "a b", "~", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}", strings.Repeat("k", 255)} {
		d.do(t, write{path: "/risks", body: goodRisk, idempotencyKey: key, status: 201})
		d.do(t, write{path: "/risks", body: goodRisk, idempotencyKey: key, status: 201, replayed: true})
	}
	d.checkUnchanged(t, func() {
		for _, key := range []string{" ", "\t", "a\tb", "é", "☂", "\x80", strings.Repeat("k", 256), strings.Repeat("k", 5000)} {
			for _, w := range []write{{path: "/risks", body: goodRisk}, {method: "PATCH", path: risk, body: `{"title":"x"}`}} {
				w.idempotencyKey, w.status, w.code, w.param = key, 400, "invalid_parameter", keyed
				d.do(t, w)
			}
		}
		r := d.request(t, write{path: "/risks", body: goodRisk})
		r.Header[keyed] = []string{"a", "a"}
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != 400 {
			t.Errorf("two keys: %d, want 400", response.StatusCode)
		}
	})
	for range 2 { // without a key, both are done
		d.do(t, write{method: "PATCH", path: risk, body: `{"title":"x"}`, header: header(keyed, "")})
	}
}

// TestIdempotency_Replays checks that every write is done once. Any key of the
// organisation then receives the same status and the same bytes, whatever happened to
// the record since.
func TestIdempotency_Replays(t *testing.T) {
	t.Parallel()
	d, _ := serveKpis(t)
	_, other := d.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: writeScopes})
	risk, incident := "/risks/"+d.id(t, "/risks", goodRisk), "/incidents/"+d.id(t, "/incidents", goodIncident)
	vendor := "/vendor/inventory/" + d.id(t, "/vendor/inventory", vendorBody("v"))
	many := strings.TrimSuffix(strings.Repeat(`"key_result_code":"W","value":1},{`, 100), "},{") // a response that is sent compressed
	gzip := header("Accept-Encoding", "gzip")
	for i, w := range []write{
		{path: "/risks", body: goodRisk, status: 201},
		{method: "PATCH", path: risk, body: `{"title":"one"}`},
		{path: "/incidents", body: `{"title":"<T> & é ☂"}`, status: 201},
		{method: "PATCH", path: incident, body: `{"status":"closed"}`},
		{path: "/vendor/inventory", body: vendorBody("w"), status: 201},
		{method: "PATCH", path: vendor, body: `{"status":"exited"}`},
		batch(`"key_result_code":"M","value":1`),
		batch(many),
	} {
		w.idempotencyKey = fmt.Sprint("key ", i)
		first := d.send(t, w)
		d.check(t, w, first)
		for _, undo := range []write{
			{method: "PATCH", path: risk, body: `{"title":"two"}`},
			{method: "PATCH", path: incident, body: `{"status":"open"}`},
			{method: "PATCH", path: vendor, body: `{"status":"active"}`},
		} {
			d.do(t, undo)
		}
		w.replayed = true
		d.checkUnchanged(t, func() {
			for _, key := range []string{d.key, other} {
				w.key = key
				d.sameAgain(t, w, first)
			}
		})
		w.header = gzip
		response, err := transport.RoundTrip(d.request(t, w))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := response.Header.Get("Content-Encoding") == "gzip"; got != (len(first.sent) >= 1400) {
			t.Errorf("%s: compressed %v, of %d bytes", w.about(), got, len(first.sent))
		}
	}
}

// sameAgain repeats a write and checks that the response is the first one, replayed.
func (d *writeService) sameAgain(t testing.TB, w write, first answer) {
	t.Helper()
	again := d.send(t, w)
	d.check(t, w, again)
	if string(again.sent) != string(first.sent) || again.status != first.status || again.header.Get("Content-Type") != first.header.Get("Content-Type") {
		t.Errorf("%s: replayed as %d %s, want %d %s", w.about(), again.status, again.sent, first.status, first.sent)
	}
}

// TestIdempotency_ComparesRequests checks which bodies count as the same request and
// which as another one.
func TestIdempotency_ComparesRequests(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	id := d.id(t, "/risks", goodRisk)
	other := d.id(t, "/risks", goodRisk)
	const body = `{"vendor_key":"v","vendor_name":"é","category":"C","initial_risk_band":"LOW","annual_cost_usd":1000}`
	d.do(t, write{path: "/vendor/inventory", body: body, idempotencyKey: "k", status: 201})
	d.do(t, write{method: "PATCH", path: "/risks/" + id, body: `{}`, idempotencyKey: "p"})
	reused := func(w write) write {
		w.status, w.code, w.param = 409, "idempotency_key_reused", keyed
		return w
	}
	d.checkUnchanged(t, func() {
		for _, same := range []string{
			` { "annual_cost_usd" : 1000 , "initial_risk_band":"LOW",
				"category":"C", "vendor_name":"é","vendor_key":"v"} `,
			strings.Replace(body, "é", `\u00e9`, 1), strings.Replace(body, `"v"`, `"\u0076"`, 1),
			strings.Replace(body, "1000", "1e3", 1), strings.Replace(body, "1000", "1000.0", 1),
			strings.Replace(body, `"category"`, `"c\u0061tegory"`, 1),
		} {
			d.do(t, write{path: "/vendor/inventory", body: same, idempotencyKey: "k", status: 201, replayed: true})
		}
		for _, another := range []string{
			strings.Replace(body, "LOW", "HIGH", 1), strings.Replace(body, "1000", "1001", 1), strings.Replace(body, `,"annual_cost_usd":1000`, "", 1),
			strings.Replace(body, "1000", `"1000"`, 1), strings.Replace(body, "1000}", `1000,"notes":null}`, 1), strings.Replace(body, `"v"`, `"v "`, 1),
			`{}`, "", "[" + body + "]", body + body, "{",
		} {
			d.do(t, reused(write{path: "/vendor/inventory", body: another, idempotencyKey: "k"}))
		}
		for _, w := range []write{
			{path: "/risks", body: body, idempotencyKey: "k"},
			{path: "/incidents", body: body, idempotencyKey: "k"},
			{path: "/risks", body: `{}`, idempotencyKey: "p"},
			{method: "PATCH", path: "/risks/" + other, body: `{}`, idempotencyKey: "p"},
			{method: "PATCH", path: "/incidents/" + id, body: `{}`, idempotencyKey: "p"},
		} {
			d.do(t, reused(w))
		}
		d.do(t, write{method: "PATCH", path: "/risks/" + id, body: ` {}`, idempotencyKey: "p", replayed: true})
	})
}

// TestIdempotency_RefusedStoresNothing checks that a refused request stores nothing, so
// that the corrected request may use the same Idempotency-Key. A panic also releases
// the key.
func TestIdempotency_RefusedStoresNothing(t *testing.T) {
	t.Parallel()
	d := serveWrites(t, func(c *server.Config) { c.Receivers = panickingWriter{} })
	d.id(t, "/vendor/inventory", vendorBody("taken"))
	critical := "/risks/" + d.id(t, "/risks", strings.Replace(goodRisk, "HIGH", "CRITICAL", 1))
	hooks := d.service.key(t, "manage:webhooks")
	good := write{path: "/risks", body: goodRisk, status: 201}
	for i, w := range []write{
		{path: "/risks", body: `{`, status: 400, code: "invalid_parameter"},
		{path: "/risks", body: `{}`, status: 400, code: "invalid_parameter", param: "title"},
		{path: "/risks?x=1", body: goodRisk, status: 400, code: "invalid_parameter", param: "x"},
		{method: "PATCH", path: "/risks/none", body: `{}`, status: 404, code: "not_found"},
		{method: "PATCH", path: critical, body: `{"status":"Closed"}`, status: 400, code: "invalid_parameter", param: "severity_change_reason"},
		{path: "/vendor/inventory", body: vendorBody("taken"), status: 409, code: "resource_conflict", param: "vendor_key"},
		batch(`"key_result_code":"X","value":1`).refused(404, "not_found", "checkins[0].key_result_code"),
		{path: "/webhooks/subscriptions", body: `{"url":"https://example.com"}`, key: hooks, status: 500, code: "internal_error"},
	} {
		w.idempotencyKey = fmt.Sprint("key ", i)
		d.checkUnchanged(t, func() {
			d.do(t, w)
			d.do(t, w) // not in flight
		})
		good.idempotencyKey = w.idempotencyKey
		d.do(t, good)
	}
	if log := d.log.String(); strings.Count(log, "msg=panic request_id=req_") != 2 {
		t.Errorf("the panics are not logged:\n%s", log)
	}
}

// panickingWriter replaces the webhook receivers and panics on every call.
type panickingWriter struct{}

func (panickingWriter) CheckURL(context.Context, string) error { panic("a defect") }

func (panickingWriter) Send(context.Context, delivery.Receiver, string, db.Message) delivery.Attempt {
	panic("a defect")
}

// TestIdempotency_InFlight checks that no other request can use an Idempotency-Key
// while a request with it is in progress. Afterwards the response is replayed.
func TestIdempotency_InFlight(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	d.id(t, "/risks", goodRisk)
	_, acme := d.mint(t, "acme", db.KeyDraft{Scopes: writeScopes})
	slow := write{path: "/risks", body: goodRisk, idempotencyKey: "k", status: 201}
	release := lock(t, d.path)
	answered := make(chan answer)
	go func() {
		a := d.send(t, slow)
		for a.status == http.StatusConflict { // a probe was in progress
			a = d.send(t, slow)
		}
		answered <- a
	}()
	refusal := slow
	refusal.status, refusal.code, refusal.param = 409, "idempotency_in_flight", keyed
	testkit.Eventually(t, func() bool { return d.probe(t, refusal) == http.StatusConflict }, "the first request is under way")
	d.do(t, refusal)
	refusal.path, refusal.body = "/incidents", goodIncident // the key is refused for any request
	d.do(t, refusal)
	foreign := make(chan answer)
	go func() { w := slow; w.key = acme; foreign <- d.send(t, w) }()
	release()
	first := <-answered
	d.check(t, slow, first)
	d.check(t, slow, <-foreign)
	slow.replayed = true
	d.sameAgain(t, slow, first)
	d.checkRows(t, "done once in each organisation", "SELECT count(*) FROM risks", "3")
}

// probe sends a write with an invalid body, so that the write is never stored, and returns
// the status.
func (d *writeService) probe(t testing.TB, w write) int {
	t.Helper()
	w.body = `{}`
	return d.send(t, w).status
}

// TestIdempotency_ConcurrentSameKey sends one request many times at once, through two
// servers on the same file. The write is done once, and every success is the same
// response.
func TestIdempotency_ConcurrentSameKey(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	d.subscribe(t, "[]")
	twin := &writeService{serveFile(t, d.path, d.clock), d.path, d.file, d.key}
	for round := range 5 {
		answers := make([]answer, 16)
		var group sync.WaitGroup
		for i := range answers {
			group.Go(func() {
				at := []*writeService{d, twin}[i%2]
				answers[i] = at.send(t, write{path: "/risks", body: goodRisk, idempotencyKey: fmt.Sprint("round ", round)})
			})
		}
		group.Wait()
		last := d.send(t, write{path: "/risks", body: goodRisk, idempotencyKey: fmt.Sprint("round ", round)})
		fresh := 0
		for _, a := range answers {
			code, _ := a.fault()
			switch {
			case a.status == 201 && string(a.sent) == string(last.sent):
				if a.header.Get("Idempotency-Replayed") == "" {
					fresh++
				}
			case code != "idempotency_in_flight":
				t.Errorf("%d %s, want the answer %s or a refusal", a.status, a.sent, last.sent)
			}
		}
		if fresh != 1 {
			t.Errorf("round %d: done %d times", round, fresh)
		}
	}
	d.checkRows(t, "risks, events, records", "SELECT (SELECT count(*) FROM risks), (SELECT count(*) FROM events), (SELECT count(*) FROM idempotency_records)", "5|5|5")
	d.verifyAudit(t, db.DefaultOrganisation)
}

// TestIdempotency_ReplayWindow checks that a response is replayed for 24 hours by the
// service's clock, also after a restart.
func TestIdempotency_ReplayWindow(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	w := write{path: "/risks", body: goodRisk, idempotencyKey: "k", status: 201}
	first := d.send(t, w)
	d.clock.Advance(24*time.Hour - time.Millisecond)
	if err := d.store.Close(); err != nil {
		t.Fatal(err)
	}
	d.service = serveFile(t, d.path, d.clock)
	w.replayed = true
	d.sameAgain(t, w, first)
	d.clock.Advance(time.Millisecond)
	w.replayed = false
	again := d.send(t, w)
	d.check(t, w, again)
	if string(again.sent) == string(first.sent) {
		t.Errorf("after 24 hours the write was not done again: %s", again.sent)
	}
	w.replayed = true
	d.sameAgain(t, w, again)
	d.clock.Advance(24 * time.Hour)
	w.replayed, w.path, w.body = false, "/incidents", goodIncident // the key can be used again
	d.do(t, w)
}

// TestIdempotency_SweepsExpired checks that the server removes expired responses and no
// others.
func TestIdempotency_SweepsExpired(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	for range 3 {
		d.id(t, "/risks", goodRisk)
	}
	d.clock.Advance(24 * time.Hour)
	d.do(t, write{path: "/risks", body: goodRisk, idempotencyKey: "young", status: 201})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.server.Run(ctx) }()
	testkit.Eventually(t, func() bool { return d.query(t, "SELECT group_concat(key) FROM idempotency_records") == "young" }, "old answers are gone")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
