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

// connections that the load keeps.
const connections = 16

// call is one request to the API.
type call struct{ method, path, body string }

// do sends a request and wants a good answer.
func (s *scene) do(ctx context.Context, c call) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, c.method, s.api+c.path, strings.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	if c.body != "" {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", "soak-"+strconv.FormatInt(s.numbers.Add(1), 10))
	}
	response, err := s.client.Do(request)
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

// pick is a request of the mix: nine reads, a tool's call among them, to a
// write; of the writes a fifth raises an event that is delivered.
func (s *scene) pick(random *rand.Rand) call {
	switch random.IntN(100) {
	case 0, 1:
		return call{"POST", "/risks", `{"title":"Drift","description":"A model of the soak drifts from its data.","severity":"HIGH","likelihood":"RARE"}`}
	case 2, 3, 4, 5, 6:
		return call{"PATCH", "/risks/" + s.risks[random.IntN(len(s.risks))], fmt.Sprintf(`{"title":"Drift %d","owner_name":"Owner %d"}`, random.IntN(1e6), random.IntN(100))}
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

// peak is how many requests a second are answered to connections that ask again
// at once.
func (s *scene) peak(ctx context.Context, spell time.Duration) (float64, error) {
	spelled, cancel := context.WithTimeout(ctx, spell)
	defer cancel()
	var group sync.WaitGroup
	counts, failures := make([]int, connections), make([]error, connections)
	begun := time.Now()
	for c := range connections {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			for spelled.Err() == nil && failures[c] == nil {
				_, failures[c] = s.do(ctx, s.pick(random))
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

// tally are the answers of a line's time.
type tally struct {
	mutex sync.Mutex
	took  []time.Duration
	fault error // the first
}

func (t *tally) note(took time.Duration, err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.took = append(t.took, took)
	if t.fault == nil {
		t.fault = err
	}
}

// drain returns what came since, sorted.
func (t *tally) drain() ([]time.Duration, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	took := t.took
	t.took = make([]time.Duration, 0, len(took))
	slices.Sort(took)
	return took, t.fault
}

// hold sends requests at a rate, and commands of other processes beside them,
// and prints a line for each time.
func (s *scene) hold(ctx context.Context, rate float64, o options) ([]line, error) {
	ctx, cancel := context.WithTimeout(ctx, o.length+o.every/2)
	defer cancel()
	answers, group := &tally{}, sync.WaitGroup{}
	begun := time.Now()
	for c := range connections {
		group.Go(func() {
			random := rand.New(rand.NewPCG(2, uint64(c)))
			gap := time.Duration(float64(time.Second) * connections / rate)
			// A request is late from when it should have been sent: a server that
			// stalls does not hold back what it is measured by.
			for at := begun.Add(gap * time.Duration(c) / connections); ; at = at.Add(gap) {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Until(at)):
				}
				_, err := s.do(ctx, s.pick(random))
				if ctx.Err() == nil {
					answers.note(time.Since(at), err)
				}
			}
		})
	}
	group.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if err := s.commands(ctx, n); err != nil && ctx.Err() == nil {
				answers.note(0, err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
			}
		}
	})
	lines, err := s.lines(ctx, begun, answers, o)
	cancel()
	group.Wait()
	return lines, err
}

// commands are what an operator does meanwhile.
func (s *scene) commands(ctx context.Context, n int) error {
	record := fmt.Sprintf(`{"object":"vendor","vendor_key":"SOAK-%d","vendor_name":"V %d","category":"C","initial_risk_band":"LOW","status":"active"}`, n%50, n)
	if _, err := s.command(ctx, record, "import", "--format", "ndjson", "-"); err != nil {
		return err
	}
	if n%6 == 3 {
		_, err := s.command(ctx, "", "keys", "list")
		return err
	}
	if n%30 == 10 { // every five minutes, over the former one
		copied := s.db + ".backup"
		if _, err := s.command(ctx, "", "backup", "--force", copied); err != nil {
			return err
		}
	}
	return nil
}
