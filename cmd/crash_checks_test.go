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

// What goes on beside the API's writes of TestCrash: webhooks that a receiver
// takes, and commands of other processes that write, too.

// hook is the receiver of TestCrash: it refuses a part of what arrives.
type hook struct {
	mutex  sync.Mutex
	taken  map[string]bool // events that it acknowledged, by id
	refuse bool
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, err := io.Copy(io.Discard, r.Body)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err != nil || h.refuse && rand.IntN(10) == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h.taken[r.Header.Get("webhook-id")] = true
}

// lacks counts the ids that were not acknowledged.
func (h *hook) lacks(ids []string) (n int) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, id := range ids {
		if !h.taken[id] {
			n++
		}
	}
	return n
}

func (h *hook) refuses(some bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.refuse = some
}

// imported is how many records an import of TestCrash has.
const imported = 12

// order is a command that was run, and whether it said that it was done.
type order struct {
	name         string
	done, minted bool
}

// command runs commands one after the other until ctx ends, which kills the one
// under way.
func (p *child) command(ctx context.Context, round int) (orders []order) {
	program, err := program()
	if err != nil {
		p.t.Error(err)
		return nil
	}
	for i := 0; ctx.Err() == nil; i++ {
		o := order{name: fmt.Sprintf("IMP-%d-%d", round, i), minted: i%3 == 2}
		args := []string{"keys", "mint", "--name", o.name, "--scope", "read:risks"}
		if !o.minted {
			var records strings.Builder
			for n := range imported {
				fmt.Fprintf(&records, `{"object":"risk","risk_id":"%s-%d","title":"T","description":"A risk of the crash test.","severity":"LOW","likelihood":"RARE","status":"Open"}`+"\n", o.name, n)
			}
			args = []string{"import", p.file(o.name+".ndjson", records.String())}
		}
		run := exec.CommandContext(ctx, program, args...)
		run.Env = append(os.Environ(), "GOVSVC_DB="+p.env["GOVSVC_DB"])
		said, err := run.CombinedOutput()
		if o.done = err == nil; !o.done && ctx.Err() == nil {
			p.t.Errorf("%q: %v: %s", args, err, said)
		}
		orders = append(orders, o)
	}
	return orders
}

// obeyed checks that what a command said to be done is there with its audit
// event, and that of one that was killed all is there, or nothing.
func (p *child) obeyed(file *sql.DB, o order) {
	p.t.Helper()
	query, want := "SELECT (SELECT count(*) FROM risks WHERE risk_id LIKE ?1 || '-%'), (SELECT count(*) FROM audit_events WHERE action = 'import.completed' AND event ->> '$.metadata.sources[0]' LIKE '%' || ?1 || '.ndjson')", imported
	if o.minted {
		query, want = "SELECT (SELECT count(*) FROM api_keys WHERE name = ?1), (SELECT count(*) FROM audit_events WHERE action = 'key.minted' AND event ->> '$.metadata.name' = ?1)", 1
	}
	var rows, told int
	if err := file.QueryRowContext(p.t.Context(), query, o.name).Scan(&rows, &told); err != nil {
		p.t.Error(err)
	}
	if there := rows == want && told == 1; !there && (o.done || rows+told > 0) {
		p.t.Errorf("%s (done %v): %d rows and %d audit events, want %d and 1", o.name, o.done, rows, told, want)
	}
}

// delivered checks that what is marked as delivered did arrive, and that all
// else is still to be delivered.
func (p *child) delivered(file *sql.DB, h *hook) {
	p.t.Helper()
	if n := h.lacks(p.strings(file, "SELECT e.id FROM deliveries d JOIN events e ON e.seq = d.event_seq WHERE d.state = 'delivered'")); n > 0 {
		p.t.Errorf("%d events are marked as delivered and never arrived", n)
	}
	if lost := p.strings(file, `SELECT id FROM events e WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_seq = e.seq
		AND (d.state = 'delivered' OR d.state = 'pending' AND d.due_at IS NOT NULL))
		AND NOT EXISTS (SELECT 1 FROM unexpanded_deliveries u WHERE u.event_seq = e.seq)`); len(lost) > 0 {
		p.t.Errorf("%d events are neither delivered nor to be", len(lost))
	}
}

// deliverAll lets the receiver take everything, has all that waits be due, and
// wants every event to arrive.
func (p *child) deliverAll(h *hook) {
	p.t.Helper()
	h.refuses(false)
	file, err := sql.Open("sqlite", "file:"+p.env["GOVSVC_DB"]+"?_pragma=busy_timeout(10000)")
	if err != nil {
		p.t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // each statement is checked
	var events []string
	testkit.Eventually(p.t, func() bool {
		// what a killed process held would be due in half a minute
		if _, err := file.ExecContext(p.t.Context(), "UPDATE deliveries SET due_at = '2026' WHERE state = 'pending' AND due_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+16 seconds')"); err != nil {
			p.t.Fatal(err)
		}
		events = p.strings(file, "SELECT id FROM events")
		return h.lacks(events) == 0
	}, "all events to arrive; log:\n%s", p.stderr)
	p.delivered(file, h)
	p.t.Logf("%d webhooks arrived", len(events))
}

func (p *child) strings(file *sql.DB, query string) (all []string) {
	p.t.Helper()
	rows, err := file.QueryContext(p.t.Context(), query)
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		p.t.Fatal(err)
	}
	return all
}
