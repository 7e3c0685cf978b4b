package cmd_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"

	"govsvc/internal/testkit"
)

// crashReceiver is the webhook receiver of TestServe_LosesNothingWhenKilled. It refuses some of the webhooks.
type crashReceiver struct {
	mutex        sync.Mutex
	acknowledged map[string]bool // acknowledged events, by id
	refuse       bool
}

func (h *crashReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, err := io.Copy(io.Discard, r.Body)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err != nil || h.refuse && rand.IntN(10) == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h.acknowledged[r.Header.Get("webhook-id")] = true
}

// missing counts the ids that were not acknowledged.
func (h *crashReceiver) missing(ids []string) (n int) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, id := range ids {
		if !h.acknowledged[id] {
			n++
		}
	}
	return n
}

func (h *crashReceiver) setRefusing(refuse bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.refuse = refuse
}

// importSize is the number of records in an import of TestServe_LosesNothingWhenKilled.
const importSize = 12

// commandRun is a run of a command that mints a key or imports records.
type commandRun struct {
	name      string
	mints     bool // a key, instead of importing records
	succeeded bool
}

// runCommands runs one command after another until ctx ends, which kills the
// running command.
func (p *child) runCommands(ctx context.Context, round int) (runs []commandRun) {
	program, err := program()
	if err != nil {
		p.t.Error(err)
		return nil
	}
	for i := 0; ctx.Err() == nil; i++ {
		o := commandRun{name: fmt.Sprintf("IMP-%d-%d", round, i), mints: i%3 == 2}
		args := []string{"keys", "mint", "--name", o.name, "--scope", "read:risks"}
		if !o.mints {
			var records strings.Builder
			for n := range importSize {
				fmt.Fprintf(&records, `{"object":"risk","risk_id":"%s-%d","title":"T","description":"A risk of the crash test.","severity":"LOW","likelihood":"RARE","status":"Open"}`+"\n", o.name, n)
			}
			args = []string{"import", p.file(o.name+".ndjson", records.String())}
		}
		run := exec.CommandContext(ctx, program, args...)
		run.Env = append(os.Environ(), "GOVSVC_DB="+p.env["GOVSVC_DB"])
		output, err := run.CombinedOutput()
		if o.succeeded = err == nil; !o.succeeded && ctx.Err() == nil {
			p.t.Errorf("%q: %v: %s", args, err, output)
		}
		runs = append(runs, o)
	}
	return runs
}

// checkRun checks that a command that reported success stored all its rows and its
// audit event. A killed command stored all of them or none.
func (p *child) checkRun(file *sql.DB, o commandRun) {
	p.t.Helper()
	query, want := "SELECT (SELECT count(*) FROM risks WHERE risk_id LIKE ?1 || '-%'), (SELECT count(*) FROM audit_events WHERE action = 'import.completed' AND event ->> '$.metadata.sources[0]' LIKE '%' || ?1 || '.ndjson')", importSize
	if o.mints {
		query, want = "SELECT (SELECT count(*) FROM api_keys WHERE name = ?1), (SELECT count(*) FROM audit_events WHERE action = 'key.minted' AND event ->> '$.metadata.name' = ?1)", 1
	}
	var rows, audited int
	if err := file.QueryRowContext(p.t.Context(), query, o.name).Scan(&rows, &audited); err != nil {
		p.t.Error(err)
	}
	if complete := rows == want && audited == 1; !complete && (o.succeeded || rows+audited > 0) {
		p.t.Errorf("%s (succeeded %v): %d rows and %d audit events, want %d and 1", o.name, o.succeeded, rows, audited, want)
	}
}

// checkDeliveries checks that webhooks marked as delivered have arrived, and
// that all others are still queued.
func (p *child) checkDeliveries(h *crashReceiver) {
	p.t.Helper()
	if n := h.missing(testkit.QuerySQL(p.t, p.env["GOVSVC_DB"], "SELECT e.id FROM deliveries d JOIN events e ON e.seq = d.event_seq WHERE d.state = 'delivered'")); n > 0 {
		p.t.Errorf("%d events are marked as delivered and never arrived", n)
	}
	if lost := testkit.QuerySQL(p.t, p.env["GOVSVC_DB"], `SELECT id FROM events e WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_seq = e.seq
		AND (d.state = 'delivered' OR d.state = 'pending' AND d.due_at IS NOT NULL))
		AND NOT EXISTS (SELECT 1 FROM unexpanded_deliveries u WHERE u.event_seq = e.seq)`); len(lost) > 0 {
		p.t.Errorf("%d events are neither delivered nor queued", len(lost))
	}
}

// deliverAll lets the receiver accept everything, makes all deliveries due, and
// waits for every event.
func (p *child) deliverAll(h *crashReceiver) {
	p.t.Helper()
	h.setRefusing(false)
	var events []string
	testkit.Eventually(p.t, func() bool {
		// The claims of a killed process only expire after half a minute.
		p.alter("UPDATE deliveries SET due_at = '2026' WHERE state = 'pending' AND due_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+16 seconds')")
		events = testkit.QuerySQL(p.t, p.env["GOVSVC_DB"], "SELECT id FROM events")
		return h.missing(events) == 0
	}, "all events to arrive; log:\n%s", p.stderr)
	p.checkDeliveries(h)
	p.t.Logf("%d webhooks arrived", len(events))
}
