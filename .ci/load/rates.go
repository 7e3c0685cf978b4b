//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// row is a row of the table of rates: a server, and what clients request from it.
type row struct {
	name  string
	start func(context.Context, *bench) (target, error)
	peers []string      // the rows that it is compared with
	each  int           // records of a request; 0 for one
	delay time.Duration // added to each sync of the server
	peer  bool          // needs PocketBase
}

// target is a started server and the requests to it.
type target struct {
	*process
	next request
}

// commonSync is added to a sync to simulate a common disk.
const commonSync = 2 * time.Millisecond

const (
	page      = "/api/v1/risks" // the most common read: 25 risks
	peerRisks = "/api/collections/risks/records"
	newRisk   = `{"title":"Drift","description":"The scoring model drifts from its population.","severity":"HIGH","likelihood":"LIKELY"}`
)

var rows = []row{
	{name: "bare chi handler", start: bareHandler},
	{name: "unchanged page", start: unchangedPage, peers: []string{"bare chi handler", "PocketBase list"}},
	{name: "random one of 10,000 pages", start: randomPage, peers: []string{"bare chi handler", "PocketBase list"}},
	{name: "PocketBase list", start: peerList, peer: true},
	{name: "MCP tools/call of the unchanged page", start: toolCall, peers: []string{"unchanged page"}},
	{name: "create", start: createRisks, peers: []string{"mutex create", "PocketBase create"}},
	{name: "PATCH", start: patchRisks, peers: []string{"create", "PocketBase PATCH"}},
	{name: "mutex create", start: mutexHandler},
	{name: "PocketBase create", start: peerCreate, peer: true},
	{name: "PocketBase PATCH", start: peerPatch, peer: true},
	{name: "check-ins, batches of 500", start: checkins, each: 500},
	{name: "create, slow syncs", start: createRisks, peers: []string{"mutex create, slow syncs", "PocketBase create, slow syncs"}, delay: commonSync},
	{name: "mutex create, slow syncs", start: mutexHandler, delay: commonSync},
	{name: "PocketBase create, slow syncs", start: peerCreate, peer: true, delay: commonSync},
}

// rates measures the rows in turn, each at 1, 16 and 64 connections.
func rates(ctx context.Context, out io.Writer, b *bench) error {
	chosen, targets, err := b.startRows(ctx, out)
	defer func() {
		for _, t := range targets {
			_ = t.stop() // its file is temporary
		}
	}()
	if err != nil {
		return err
	}
	counts := []int{1, 16, 64}
	results := make(map[string][]result) // of a row, by the number of connections
	memory := make(map[string][]float64)
	for _, connections := range counts {
		rounds := make([][]result, len(chosen))
		for range b.rounds {
			for i, t := range targets {
				r, err := t.measure(ctx, traffic{connections: connections, next: t.next}, b.period)
				if err != nil {
					return fmt.Errorf("%s: %w", chosen[i].name, err)
				}
				rounds[i] = append(rounds[i], r)
			}
		}
		for i, r := range chosen {
			results[r.name] = append(results[r.name], median(rounds[i]))
			memory[r.name] = append(memory[r.name], targets[i].resident())
		}
	}
	fmt.Fprintf(out, "## Rates: a register of %d risks\n\n", b.sizes[1])
	fmt.Fprintf(out, "\"Slow syncs\" take %s longer each. PocketBase runs with its default, which does not sync a commit (NORMAL); the other writes are durable when they are acknowledged (FULL). "+
		"The mutex writes the same rows as the service. \"Client\" is the client's share of the processor time.\n\n", commonSync)
	fmt.Fprintln(out, "| | connections | a second | compared | processor time each | client | p50 | p99 | MB |\n|---|---|---|---|---|---|---|---|---|")
	for _, r := range chosen {
		for at, connections := range counts {
			m := results[r.name][at]
			var compared []string
			for _, peer := range r.peers {
				if other := results[peer]; other != nil {
					compared = append(compared, fmt.Sprintf("%.2f of %s", m.rate/other[at].rate, peer))
				}
			}
			each := max(r.each, 1)
			fmt.Fprintf(out, "| %s | %d | %.0f | %s | %s | %.0f %% | %s | %s | %.0f |\n", r.name, connections, m.rate*float64(each), strings.Join(compared, "; "),
				(m.server / time.Duration(m.responses*each)).Round(100*time.Nanosecond), 100*float64(m.client)/float64(m.client+m.server), rounded(m.p50), rounded(m.p99), memory[r.name][at])
		}
	}
	_, err = fmt.Fprintln(out)
	return err
}

// startRows starts the servers of the chosen rows. It returns those that it started, also
// with an error.
func (b *bench) startRows(ctx context.Context, out io.Writer) (chosen []row, targets []target, err error) {
	defer func() { b.syncDelay = 0 }()
	_, missing := exec.LookPath("strace")
	if missing != nil {
		fmt.Fprintf(out, "Rows with slow syncs are not measured, because strace is missing.\n\n")
	}
	for _, r := range rows {
		if r.delay > 0 && missing != nil || r.peer && !b.pocketBase || !b.rows.MatchString(r.name) {
			continue
		}
		b.syncDelay = r.delay
		t, err := r.start(ctx, b)
		if t.process != nil {
			chosen, targets = append(chosen, r), append(targets, t)
		}
		if err != nil {
			return chosen, targets, fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return chosen, targets, nil
}

// measure is traffic.send, with the processor time of the server.
func (p *process) measure(ctx context.Context, t traffic, period time.Duration) (result, error) {
	before := p.processorTime()
	t.address = p.address
	r, err := t.send(ctx, period)
	r.server = p.processorTime() - before
	return r, err
}

// median returns the rate and the latencies of the median round, and the sums of the
// processor times.
func median(rounds []result) result {
	slices.SortFunc(rounds, func(a, b result) int { return int(a.rate - b.rate) })
	m := rounds[len(rounds)/2]
	m.responses, m.client, m.server = 0, 0, 0
	for _, r := range rounds {
		m.responses, m.client, m.server = m.responses+r.responses, m.client+r.client, m.server+r.server
	}
	return m
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// bareHandler serves the bytes of the unchanged page.
func bareHandler(ctx context.Context, b *bench) (target, error) {
	path, err := b.pageBytes(ctx)
	if err != nil {
		return target{}, err
	}
	return b.handler(ctx, always(get(page, "")), "bare", path)
}

func unchangedPage(ctx context.Context, b *bench) (target, error) {
	server, key, err := b.register(ctx, "read:all")
	return target{server, always(get(page, key))}, err
}

// randomPage starts a page at every tenth risk. These are more pages than the server holds
// in memory.
func randomPage(ctx context.Context, b *bench) (target, error) {
	server, key, err := b.register(ctx, "read:all")
	if err != nil {
		return target{}, err
	}
	pages := [][]byte{get(page, key)}
	for cursor := ""; ; {
		l, err := readList(ctx, server.address, get(page+"?limit=10"+cursor, key))
		if err != nil {
			return target{server, nil}, err
		}
		if l.Cursor == "" {
			break
		}
		cursor = "&cursor=" + l.Cursor
		pages = append(pages, get(page+"?limit=25"+cursor, key))
	}
	return target{server, func(int) []byte { return pages[rand.IntN(len(pages)-2)] }}, nil
}

func toolCall(ctx context.Context, b *bench) (target, error) {
	const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks","arguments":{}}}`
	server, key, err := b.register(ctx, "read:all")
	return target{server, write("POST", key, "/api/v1/mcp", func(int) string { return message })}, err
}

func createRisks(ctx context.Context, b *bench) (target, error) {
	server, key, err := b.register(ctx, "read:all,write:risks")
	return target{server, write("POST", key, page, func(int) string { return newRisk })}, err
}

// patchRisks gives random risks new titles.
func patchRisks(ctx context.Context, b *bench) (target, error) {
	server, key, err := b.register(ctx, "read:all,write:risks")
	if err != nil {
		return target{}, err
	}
	var ids []string
	for cursor := ""; len(ids) < 10_000; {
		l, err := readList(ctx, server.address, get(page+"?limit=100"+cursor, key))
		if err != nil {
			return target{server, nil}, err
		}
		for _, risk := range l.Data {
			ids = append(ids, risk.ID)
		}
		if l.Cursor == "" {
			break
		}
		cursor = "&cursor=" + l.Cursor
	}
	return target{server, func(n int) []byte {
		return write("PATCH", key, page+"/"+ids[rand.IntN(len(ids))], newTitle)(n)
	}}, nil
}

var requests int // numbers the Idempotency-Keys; one goroutine at a time sends writes

// write returns a write with a new Idempotency-Key each time.
func write(method, key, path string, body func(n int) string) request {
	return func(n int) []byte {
		requests++
		text := body(n)
		return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nIdempotency-Key: load-%d\r\nContent-Length: %d\r\n\r\n%s",
			method, path, key, requests, len(text), text)
	}
}

// newTitle is a change that no other request makes.
func newTitle(int) string { return fmt.Sprintf(`{"title":"Drift, as of change %d"}`, requests) }

// checkins writes batches of 500 points, each batch for other days.
func checkins(ctx context.Context, b *bench) (target, error) {
	server, key, err := b.register(ctx, "read:all,write:kpis")
	day := 0
	return target{server, write("POST", key, "/api/v1/kpis/checkins", func(int) string {
		points := make([]string, 500)
		for i := range points {
			if i%10 == 0 {
				day++
			}
			points[i] = fmt.Sprintf(`{"key_result_code":"LOAD-%d","value":%d,"period_start":"%04d-%02d-%02d"}`, i%10, day, 1000+day/336%8000, day/28%12+1, day%28+1)
		}
		return `{"checkins":[` + strings.Join(points, ",") + `]}`
	})}, err
}

// mutexHandler writes the same rows to the same tables in the simplest way.
func mutexHandler(ctx context.Context, b *bench) (target, error) {
	path, err := b.copyOf(ctx, b.sizes[1])
	if err != nil {
		return target{}, err
	}
	return b.handler(ctx, write("POST", "", page, func(int) string { return newRisk }), "mutex", path)
}

func peerList(ctx context.Context, b *bench) (target, error) {
	server, err := b.peer(ctx)
	if err != nil {
		return target{}, err
	}
	return target{server, always(get(peerRisks+"?perPage=25&skipTotal=1&sort=created,id", server.key))}, nil
}

func peerCreate(ctx context.Context, b *bench) (target, error) {
	server, err := b.peer(ctx)
	if err != nil {
		return target{}, err
	}
	return target{server, write("POST", server.key, peerRisks, func(int) string { return newRisk })}, nil
}

func peerPatch(ctx context.Context, b *bench) (target, error) {
	server, err := b.peer(ctx)
	if err != nil {
		return target{}, err
	}
	return target{server, func(n int) []byte {
		return write("PATCH", server.key, fmt.Sprintf("%s/load%011d", peerRisks, rand.IntN(min(10_000, b.sizes[1]))), newTitle)(n)
	}}, nil
}
