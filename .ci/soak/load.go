package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// connections is the number of connections of the load.
const connections = 16

// call is one request to the API.
type call struct{ method, path, body string }

// do sends a request and returns an error unless the response is a 2xx.
func (h *harness) do(ctx context.Context, c call) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, c.method, h.api+c.path, strings.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+h.key)
	if c.body != "" {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", "soak-"+strconv.FormatInt(h.numbers.Add(1), 10))
	}
	response, err := h.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s %s", c.method, c.path, response.Status, text)
	}
	return text, err
}

// pick returns a request of the mix: nine reads, MCP calls among them, for each
// write. A fifth of the writes causes an event that is delivered.
func (h *harness) pick(random *rand.Rand) call {
	switch random.IntN(100) {
	case 0, 1:
		return call{"POST", "/risks", `{"title":"Drift","description":"A model of the soak drifts from its data.","severity":"HIGH","likelihood":"RARE"}`}
	case 2, 3, 4, 5, 6:
		return call{"PATCH", "/risks/" + h.risks[random.IntN(len(h.risks))], fmt.Sprintf(`{"title":"Drift %d","owner_name":"Owner %d"}`, random.IntN(1e6), random.IntN(100))}
	case 7, 8, 9:
		points := make([]string, 5)
		for i := range points {
			points[i] = fmt.Sprintf(`{"key_result_code":"SOAK-%d","value":%d,"period_start":"2026-%02d-%02d"}`, random.IntN(10), random.IntN(100), 1+random.IntN(9), 1+random.IntN(28))
		}
		return call{"POST", "/kpis/checkins", `{"checkins":[` + strings.Join(points, ",") + `]}`}
	case 10:
		return call{"GET", "/audit?limit=100", ""}
	case 11, 12, 13, 14:
		return call{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks","arguments":{"limit":10}}}`}
	case 15, 16, 17, 18, 19:
		return call{"GET", "/kpis", ""}
	case 20, 21, 22, 23, 24:
		return call{"GET", fmt.Sprintf("/risks?updated_since=2026-01-%02d&limit=%d", 1+random.IntN(28), 1+random.IntN(100)), ""}
	case 25, 26, 27:
		return call{"GET", "/openapi.json", ""}
	}
	return call{"GET", "/risks?severity=" + []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}[random.IntN(4)], ""}
}

// peak returns the number of responses per second if each connection sends its next
// request immediately.
func (h *harness) peak(ctx context.Context, period time.Duration) (float64, error) {
	bounded, cancel := context.WithTimeout(ctx, period)
	defer cancel()
	var group sync.WaitGroup
	counts, failures := make([]int, connections), make([]error, connections)
	begun := time.Now()
	for c := range connections {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			for bounded.Err() == nil && failures[c] == nil {
				_, failures[c] = h.do(ctx, h.pick(random))
				counts[c]++
			}
		})
	}
	group.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / time.Since(begun).Seconds(), errors.Join(failures...)
}

// tally collects the responses of one line of the table.
type tally struct {
	mutex sync.Mutex
	took  []time.Duration
	err   error // the first error
}

func (t *tally) note(took time.Duration, err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.took = append(t.took, took)
	if t.err == nil {
		t.err = err
	}
}

// drain returns the sorted times since the last call, and the first error.
func (t *tally) drain() ([]time.Duration, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	took := t.took
	t.took = make([]time.Duration, 0, len(took))
	slices.Sort(took)
	return took, t.err
}

// hold sends requests at a rate, runs commands in other processes at the same
// time, and prints the lines of the table.
func (h *harness) hold(ctx context.Context, rate float64, o options) ([]line, error) {
	ctx, cancel := context.WithTimeout(ctx, o.length+o.every/2)
	defer cancel()
	responses, group := &tally{}, sync.WaitGroup{}
	begun := time.Now()
	for c := range connections {
		group.Go(func() {
			random := rand.New(rand.NewPCG(2, uint64(c)))
			gap := time.Duration(float64(time.Second) * connections / rate)
			// The time of a request counts from when it should have been sent, so
			// that a stall of the server is not hidden.
			for at := begun.Add(gap * time.Duration(c) / connections); ; at = at.Add(gap) {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Until(at)):
				}
				_, err := h.do(ctx, h.pick(random))
				if ctx.Err() == nil {
					responses.note(time.Since(at), err)
				}
			}
		})
	}
	group.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if err := h.commands(ctx, n); err != nil && ctx.Err() == nil {
				responses.note(0, err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
			}
		}
	})
	lines, err := h.lines(ctx, begun, responses, o)
	cancel()
	group.Wait()
	return lines, err
}

// commands runs commands of an operator during the load.
func (h *harness) commands(ctx context.Context, n int) error {
	record := fmt.Sprintf(`{"object":"vendor","vendor_key":"SOAK-%d","vendor_name":"V %d","category":"C","initial_risk_band":"LOW","status":"active"}`, n%50, n)
	if _, err := h.command(ctx, record, "import", "--format", "ndjson", "-"); err != nil {
		return err
	}
	if n%6 == 3 {
		_, err := h.command(ctx, "", "keys", "list")
		return err
	}
	if n%30 == 10 { // every five minutes, over the previous backup
		copied := h.db + ".backup"
		if _, err := h.command(ctx, "", "backup", "--force", copied); err != nil {
			return err
		}
	}
	return nil
}
