package cmd_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/internal/testkit"
)

var crashRounds = flag.Int("crash.rounds", 2, "how often TestServe_LosesNothingWhenKilled kills the server, and the rounds of other tests with processes")

// crashWrite is a write with its own Idempotency-Key, and the response that
// acknowledged it, if any.
type crashWrite struct {
	method, path, body, idempotencyKey, response string
}

// send sends a write. The status is 0 without a response.
func (p *child) send(client *http.Client, d crashWrite) (status int, body, replayed string) {
	r, err := http.NewRequestWithContext(p.t.Context(), d.method, p.api+d.path, strings.NewReader(d.body))
	if err != nil {
		p.t.Error(err)
		return 0, "", ""
	}
	r.Header.Set("Authorization", "Bearer "+p.key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", d.idempotencyKey)
	response, err := client.Do(r)
	if err != nil {
		return 0, "", ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, "", ""
	}
	return response.StatusCode, string(text), response.Header.Get("Idempotency-Replayed")
}

// newRisk creates a risk with an Idempotency-Key.
func newRisk(once string) crashWrite {
	return crashWrite{method: "POST", path: "/risks", idempotencyKey: once, body: `{"title":"` + once + `","description":"A risk of the crash test.","severity":"HIGH","likelihood":"RARE"}`}
}

// want sends a write and compares the status.
func (p *child) want(about string, d crashWrite, status int) {
	p.t.Helper()
	got, body, _ := p.send(http.DefaultClient, d)
	if got != status || status == 503 && !strings.Contains(body, `"service_unavailable"`) {
		p.t.Errorf("%s: %s %s: %d %s, want %d; log:\n%s", about, d.method, d.path, got, body, status, p.stderr)
	}
}

// randomWrite makes a write of a random kind.
func randomWrite(random *rand.Rand, once, risk string) crashWrite {
	switch random.IntN(4) {
	case 0:
		return crashWrite{method: "POST", path: "/vendor/inventory", idempotencyKey: once, body: `{"vendor_key":"` + once + `","vendor_name":"N","category":"C","initial_risk_band":"LOW"}`}
	case 1:
		severity := []string{"LOW", "MEDIUM", "HIGH", "CRITICAL"}[random.IntN(4)]
		return crashWrite{method: "PATCH", path: "/risks/" + risk, idempotencyKey: once, body: `{"title":"` + once + `","severity":"` + severity + `","severity_change_reason":"a reason for every change"}`}
	}
	return newRisk(once)
}

// TestServe_LosesNothingWhenKilled repeatedly kills the server while connections write,
// webhooks are delivered and commands of another process write, and kills the command
// with it. After each restart every acknowledged write has its audit event, its outbox
// row and its replay. Other writes can be repeated. No write is stored partly, no
// webhook is lost, and `govsvc check` succeeds.
func TestServe_LosesNothingWhenKilled(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d rounds (more with -crash.rounds)", seed, *crashRounds)
	random := rand.New(rand.NewPCG(seed, 0))
	c := newCLI(t)
	key := c.key("write:risks,write:vendor")
	receiver := &crashReceiver{acknowledged: map[string]bool{}, refuse: true}
	listening, ca := newReceiver(c, receiver.ServeHTTP)
	c.subscribe(listening.URL) // without a subscription no event is enqueued
	delivering := func(run *exec.Cmd) { run.Args = append(run.Args, reaching(ca)...) }
	p := c.child(key, delivering)
	_, made, _ := p.send(http.DefaultClient, newRisk("first"))
	_, risk, _ := strings.Cut(made, `"id":"`)
	risk, _, _ = strings.Cut(risk, `"`)
	acknowledged, succeeded := 0, 0
	for round := range *crashRounds {
		writes, runs := p.writeUntilKilled(random, round, risk)
		p = c.child(key, delivering)
		for _, write := range writes {
			if write.response != "" {
				acknowledged++
			}
			p.repeat(write)
		}
		p.checkTables()
		file := p.openReadOnly()
		for _, run := range runs {
			if run.succeeded {
				succeeded++
			}
			p.checkRun(file, run)
		}
		p.checkDeliveries(receiver)
		_ = file.Close()
		c.must("check")
	}
	p.deliverAll(receiver)
	t.Logf("%d acknowledged writes, %d successful commands", acknowledged, succeeded)
	if acknowledged == 0 {
		t.Error("no write was acknowledged, so the test checked nothing")
	}
	p.kill()
	c.must("audit", "verify")
}

// writeUntilKilled writes from several connections and by commands, kills the
// server and the command at a random moment, and returns the writes and the
// runs.
func (p *child) writeUntilKilled(random *rand.Rand, round int, risk string) (all []crashWrite, runs []commandRun) {
	p.t.Helper()
	const connections = 6
	sent := make([][]crashWrite, connections)
	seeds := random.Perm(connections)
	var group sync.WaitGroup
	ctx, kill := context.WithCancel(p.t.Context())
	defer kill()
	group.Go(func() { runs = p.runCommands(ctx, round) })
	var answered atomic.Int64
	for connection := range connections {
		own := rand.New(rand.NewPCG(uint64(round), uint64(seeds[connection])))
		group.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := 0; ; i++ {
				d := randomWrite(own, fmt.Sprintf("r%d-%d-%d", round, connection, i), risk)
				status, body, _ := p.send(client, d)
				if status >= 400 {
					p.t.Errorf("%s %s: %d %s", d.method, d.path, status, body)
				}
				d.response = body
				sent[connection] = append(sent[connection], d)
				if status == 0 {
					return
				}
				answered.Add(1)
			}
		})
	}
	// The moment depends on the number of writes and not on the time, because a busy
	// machine may have written almost nothing by then.
	enough := random.Int64N(60)
	testkit.Eventually(p.t, func() bool { return answered.Load() >= enough }, "%d writes to be answered; log:\n%s", enough, p.stderr)
	time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
	if random.IntN(2) == 0 { // either may be killed first
		kill()
	}
	_ = p.Process.Kill()
	kill()
	_ = p.Wait()
	group.Wait()
	for _, writes := range sent {
		all = append(all, writes...)
	}
	return all, runs
}

// repeat repeats a write. An acknowledged write is replayed with the same
// response. Others are done or replayed now.
func (p *child) repeat(d crashWrite) {
	p.t.Helper()
	status, body, replayed := p.send(http.DefaultClient, d)
	switch {
	case status != 200 && status != 201:
		p.t.Errorf("%s %s %s again: %d %s", d.method, d.path, d.idempotencyKey, status, body)
	case d.response != "" && (body != d.response || replayed != "true"):
		p.t.Errorf("%s %s %s again: replayed %q %s, want %s", d.method, d.path, d.idempotencyKey, replayed, body, d.response)
	}
}

// openReadOnly opens the data file for reading while the server runs.
func (p *child) openReadOnly() *sql.DB {
	p.t.Helper()
	file, err := sql.Open("sqlite", "file:"+p.env["GOVSVC_DB"]+"?mode=ro&_pragma=busy_timeout(10000)")
	must(p.t, err)
	return file
}

// checkTables compares the tables that one write changes. Each record, audit
// event, outbox row and stored response has its counterparts.
func (p *child) checkTables() {
	p.t.Helper()
	file := p.openReadOnly()
	defer file.Close() //nolint:errcheck // read only
	// Only risks that were created while a subscription existed have an event.
	const announced = "risks WHERE EXISTS (SELECT 1 FROM webhook_subscriptions)"
	for about, query := range map[string]string{
		"risks without their created event":            `SELECT count(*) FROM (SELECT id FROM ` + announced + ` EXCEPT SELECT body ->> '$.data.risk.id' FROM events WHERE type = 'risk.created')`,
		"created events that are not of one risk each": `SELECT abs((SELECT count(*) FROM ` + announced + `) - (SELECT count(*) FROM events WHERE type = 'risk.created'))`,
		// The event of an import covers all its records.
		"records without their audit event": `SELECT count(*) FROM (SELECT id FROM risks WHERE risk_id NOT LIKE 'IMP-%' UNION SELECT id FROM vendors EXCEPT SELECT resource_id FROM audit_events
			WHERE coalesce(event ->> '$.metadata.changes.risk_id', event ->> '$.metadata.changes.vendor_key') IS NOT NULL)`,
		"stored responses without a record":    `SELECT count(*) FROM idempotency_records WHERE answer ->> '$.data.id' NOT IN (SELECT id FROM risks UNION ALL SELECT id FROM vendors)`,
		"more or fewer responses than changes": `SELECT abs((SELECT count(*) FROM idempotency_records) - (SELECT count(*) FROM audit_events WHERE action LIKE 'api.write.%'))`,
		"more or fewer reasons than re-ratings": `SELECT abs((SELECT count(*) FROM severity_evidence) -
			(SELECT count(*) FROM audit_events WHERE event -> '$.metadata.changes.severity_change_reason' IS NOT NULL))`,
		"more or fewer events than re-ratings": `SELECT abs((SELECT count(*) FROM events WHERE type = 'risk.severity_changed') - (SELECT count(*) FROM audit_events
			WHERE action = 'api.write.risk' AND event ->> '$.metadata.changes.severity.from' IS NOT NULL))`,
		"gaps in the numbers":                 `SELECT abs((SELECT count(*) FROM risks WHERE risk_id NOT LIKE 'IMP-%') - (SELECT last_risk_number FROM organisations))`,
		"the last PATCH is not in the record": `SELECT count(*) FROM risks WHERE risk_id = 'RISK-0001' AND title <> (SELECT event ->> '$.metadata.changes.title.to' FROM audit_events WHERE resource_id = risks.id ORDER BY seq DESC LIMIT 1)`,
		"errors of the integrity check":       `SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'`,
		"dangling references":                 `SELECT count(*) FROM pragma_foreign_key_check`,
	} {
		var n int
		if err := file.QueryRowContext(p.t.Context(), query).Scan(&n); err != nil || n != 0 {
			p.t.Errorf("%s: %d, %v", about, n, err)
		}
	}
}
