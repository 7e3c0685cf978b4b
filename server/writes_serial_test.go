package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
)

// seedOf returns and prints the seed of a random test. GOVSVC_TEST_SEED sets the seed.
func seedOf(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("GOVSVC_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d: repeat with GOVSVC_TEST_SEED=%d", seed, seed)
	return seed
}

// sentWrite is a write that was sent at least once, with all its responses.
type sentWrite struct {
	write
	mutex   sync.Mutex
	answers []answer
}

// concurrentWrites sends random writes and repetitions of them from many goroutines.
type concurrentWrites struct {
	*writeService
	risks  []string // ids for PATCH requests
	writes []*sentWrite
}

func newConcurrentWrites(t *testing.T, random *rand.Rand, n int) *concurrentWrites {
	t.Helper()
	d, _ := serveKpis(t)
	c := &concurrentWrites{writeService: d}
	d.subscribe(t, "[]")
	for range 3 {
		c.risks = append(c.risks, d.id(t, "/risks", goodRisk))
	}
	for i := range n {
		c.writes = append(c.writes, &sentWrite{write: c.pick(random, i)})
	}
	return c
}

// pick returns the n-th write. Its values identify it, so that the file shows which
// write was last.
func (c *concurrentWrites) pick(random *rand.Rand, n int) write {
	mark := fmt.Sprint("write ", n)
	w := write{idempotencyKey: mark}
	switch random.IntN(5) {
	case 0:
		w.path, w.body = "/risks", strings.Replace(goodRisk, `"T"`, `"`+mark+`"`, 1)
	case 1:
		w.method, w.path = "PATCH", "/risks/"+c.risks[random.IntN(len(c.risks))]
		severity := []string{"LOW", "MEDIUM", "HIGH", "CRITICAL"}[random.IntN(4)]
		w.body = fmt.Sprintf(`{"title":"%s","severity":"%s","severity_change_reason":"a reason for every change"}`, mark, severity)
	case 2:
		w.path, w.body = "/vendor/inventory", vendorBody(fmt.Sprint("vendor ", random.IntN(10)))
	case 3:
		w.path, w.body = "/kpis/checkins", fmt.Sprintf(`{"checkins":[{"key_result_code":"M","value":%d,"period_start":"2026-0%d-01"}]}`, n, 1+random.IntN(9))
	default:
		w.path, w.body = "/risks", `{"title":"`+mark+`"}` // refused
	}
	return w
}

// TestWrite_SerialOrder sends random writes from many goroutines, each several times and
// concurrently. The file must have the state that the writes produce one after another
// in the order of the audit log. Each acknowledged write is done exactly once.
func TestWrite_SerialOrder(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	random := rand.New(rand.NewPCG(seed, 0))
	c := newConcurrentWrites(t, random, 150)
	var plan []*sentWrite
	for range 3 {
		plan = append(plan, c.writes...)
	}
	random.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
	var group sync.WaitGroup
	const workers = 16
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < len(plan); i += workers {
				a := c.send(t, plan[i].write)
				plan[i].mutex.Lock()
				plan[i].answers = append(plan[i].answers, a)
				plan[i].mutex.Unlock()
			}
		})
	}
	group.Wait()
	done := c.acknowledged(t)
	if len(done) < len(c.writes)/2 {
		t.Errorf("only %d of %d writes were done", len(done), len(c.writes))
	}
	c.replaySerially(t, done)
	c.verifyAudit(t, db.DefaultOrganisation)
}

// acknowledged checks that every success of a write has the same response, and that
// exactly one is not a replay. It returns the writes that were done, by request id.
func (c *concurrentWrites) acknowledged(t *testing.T) map[string]*sentWrite {
	t.Helper()
	done := map[string]*sentWrite{}
	for _, sent := range c.writes {
		fresh, body := 0, []byte(nil)
		for _, a := range sent.answers {
			// on a busy machine a write can get a 503, which means that nothing was done
			if a.status >= 500 && a.status != http.StatusServiceUnavailable {
				t.Errorf("%s: %d %s", sent.about(), a.status, a.body)
			}
			if a.status >= 300 {
				continue
			}
			if body != nil && !bytes.Equal(body, a.sent) {
				t.Errorf("%s: two answers, %s and %s", sent.about(), body, a.sent)
			}
			if body = a.sent; a.header.Get("Idempotency-Replayed") == "" {
				fresh++
				done[a.header.Get("X-Request-Id")] = sent
			}
		}
		if body != nil && fresh != 1 {
			t.Errorf("%s: done %d times", sent.about(), fresh)
		}
	}
	return done
}

// replaySerially runs the writes of the audit log one after another on a model, and
// compares the model with the file.
func (c *concurrentWrites) replaySerially(t *testing.T, done map[string]*sentWrite) {
	t.Helper()
	titles, severities, vendors, values, numbers, rated := map[string]string{}, map[string]string{}, []string{}, map[string]string{}, 3, 0
	for _, id := range c.risks {
		titles[id], severities[id] = "T", "HIGH"
	}
	log := c.query(t, `SELECT event ->> '$.metadata.request_id', coalesce(resource_id, '') FROM audit_events WHERE action LIKE 'api.write.%' ORDER BY seq`)
	lines := strings.Split(log, "\n")[3:] // without the three risks that newConcurrentWrites creates
	for _, line := range lines {
		request, id, _ := strings.Cut(line, "|")
		sent := done[request]
		if sent == nil {
			t.Errorf("the log has a change by %s, for which no client got a success", request)
			continue
		}
		delete(done, request)
		var body struct {
			Title, Severity string
			Key             string `json:"vendor_key"`
			Checkins        []struct {
				Value  int
				Period string `json:"period_start"`
			}
		}
		if err := json.Unmarshal([]byte(sent.body), &body); err != nil {
			t.Fatal(err)
		}
		switch {
		case sent.path == "/risks":
			numbers++
			if want := fmt.Sprintf(`"risk_id":"RISK-%04d"`, numbers); !strings.Contains(string(sent.success()), want) {
				t.Errorf("%s: %s, want %s", sent.about(), sent.success(), want)
			}
			titles[id], severities[id] = body.Title, body.Severity
		case sent.verb() == "PATCH":
			if severities[id] != body.Severity {
				rated++
			}
			titles[id], severities[id] = body.Title, body.Severity
		case sent.path == "/vendor/inventory":
			vendors = append(vendors, body.Key)
		default:
			values[body.Checkins[0].Period] = strconv.Itoa(body.Checkins[0].Value)
		}
	}
	for request, sent := range done {
		t.Errorf("%s was answered %s and is not in the log", sent.about(), request)
	}
	c.checkRows(t, "risks", "SELECT id, title, severity FROM risks ORDER BY id", sorted(titles, func(id string) string { return id + "|" + titles[id] + "|" + severities[id] })...)
	c.checkRows(t, "values", "SELECT period_start, value FROM kpi_checkins ORDER BY period_start", sorted(values, func(period string) string { return period + "|" + values[period] })...)
	c.checkRows(t, "vendors", "SELECT vendor_key FROM vendors ORDER BY seq", vendors...)
	latest := slices.Max(append(sorted(values, func(period string) string { return period }), "0"))
	c.checkRows(t, "current value", "SELECT current_value FROM kpis WHERE code = 'M' AND org_id = 1", values[latest])
	c.checkRows(t, "events", "SELECT type, count(*) FROM events GROUP BY type ORDER BY type", fmt.Sprintf("risk.created|%d", numbers), fmt.Sprintf("risk.severity_changed|%d", rated))
	c.checkRows(t, "kept answers", "SELECT count(*) FROM idempotency_records", fmt.Sprint(len(lines)+3))
}

// success returns the body of the first successful response.
func (d *sentWrite) success() []byte {
	for _, a := range d.answers {
		if a.status < 300 {
			return a.sent
		}
	}
	return nil
}

// sorted returns a line for each key of a map, in the order of the keys.
func sorted(m map[string]string, line func(string) string) []string {
	lines := make([]string, 0, len(m))
	for key := range m {
		lines = append(lines, line(key))
	}
	slices.Sort(lines)
	return lines
}
