package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// withServer runs a measurement with a server of the file with n risks.
func (b *bench) withServer(ctx context.Context, n int, scopes string, measure func(server *process, key string) error) error {
	path, err := b.file(ctx, n)
	if err != nil {
		return err
	}
	key, err := b.key(ctx, path, scopes)
	if err != nil {
		return err
	}
	server, err := b.serve(ctx, path)
	if err != nil {
		return err
	}
	defer server.stop() //nolint:errcheck // its file is temporary
	return measure(server, key)
}

// paced delays requests so that all connections together send perSecond requests a
// second.
func paced(connections, perSecond int, next request) request {
	begun := time.Now()
	gap := time.Second * time.Duration(connections) / time.Duration(perSecond)
	return func(connection, n int) []byte {
		if n == 0 {
			begun = time.Now()
		}
		time.Sleep(time.Until(begun.Add(time.Duration(n) * gap)))
		return next(connection, n)
	}
}

// tools compares a tool call over MCP with the GET of the same page.
func tools(ctx context.Context, out io.Writer, b *bench) error {
	return b.withServer(ctx, b.sizes[0], "read:all", func(server *process, key string) error {
		const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks","arguments":{}}}`
		fmt.Fprintln(out, "## MCP: tools/call of the unchanged page compared with its GET\n\n| connections | calls/s | p99 | GETs/s | share |\n|---|---|---|---|---|")
		for _, connections := range []int{1, 16, 64} {
			calls, gets, err := b.pair(ctx, connections,
				side{server.address, post("/api/v1/mcp", key, message)}, side{server.address, get(page, key)})
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "| %d | %.0f | %s | %.0f | %.2f |\n", connections, calls.rate, rounded(calls.p99), gets.rate, calls.rate/gets.rate)
		}
		return server.reportResident(out)
	})
}

// checkins writes batches of 500 points, each batch for other days.
func checkins(ctx context.Context, out io.Writer, b *bench) error {
	return b.withServer(ctx, b.sizes[0], "read:all,write:kpis", func(server *process, key string) error {
		next := func(connection, n int) []byte {
			points := make([]string, 500)
			for i := range points {
				day := (connection*100_000 + n*500 + i) % 300_000
				points[i] = fmt.Sprintf(`{"key_result_code":"LOAD-%d","value":%d,"period_start":"%04d-%02d-%02d"}`, i%10, n, 1000+day/336, day/28%12+1, day%28+1)
			}
			return post("/api/v1/kpis/checkins", key, `{"checkins":[`+strings.Join(points, ",")+`]}`)(0, 0)
		}
		fmt.Fprintln(out, "## KPI check-ins, batches of 500 points\n\n| connections | points/s | p99 of a batch |\n|---|---|---|")
		for _, connections := range []int{1, 4} {
			r, err := load(ctx, server.address, connections, b.period, next)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "| %d | %.0f | %s |\n", connections, 500*r.rate, rounded(r.p99))
		}
		return server.reportResident(out)
	})
}

// flood measures a valid caller while others present invalid keys. First the others
// present valid keys, which shows the effect of the load itself.
func flood(ctx context.Context, out io.Writer, b *bench) error {
	return b.withServer(ctx, b.sizes[0], "read:all", func(server *process, key string) error {
		const wrong = "HTTP/1.1 401"
		former := "gov_live_" + strings.Repeat("k", 30)
		if _, err := b.govsvcIn(ctx, former, "keys", "import", "--db", server.file, "--name", "former", "--scope", "read:all"); err != nil {
			return err
		}
		fmt.Fprintln(out, "## A valid caller at 200 requests a second, with 800 others a second\n\nThe others present valid keys, or one kind of invalid key.\n\n| keys of the others | p50 alone | p50 | p99 alone | p99 |\n|---|---|---|---|---|")
		good := paced(1, 200, get(page, key))
		for _, kind := range []struct {
			name, status string
			key          func(n int) string
		}{
			{"valid", "HTTP/1.1 200", func(int) string { return key }},
			{"bad tag", wrong, func(int) string { return key[:len(key)-8] + "00000000" }},
			{"unknown id", wrong, func(n int) string { return fmt.Sprintf("gov_live_%024d", n) }},
			{"the first characters of a former key", wrong, func(n int) string { return fmt.Sprintf("%s%016d", former[:20], n) }},
		} {
			var alone, during []result
			for range b.rounds {
				r, err := load(ctx, server.address, 1, b.period, good)
				if err != nil {
					return err
				}
				alone = append(alone, r)
				var group sync.WaitGroup
				var failed error
				group.Go(func() {
					_, failed = loadFor(ctx, server.address, 16, b.period, kind.status, paced(16, 800, func(c, n int) []byte {
						return get(page, kind.key(c*1_000_000+n))(0, 0)
					}))
				})
				r, err = load(ctx, server.address, 1, b.period, good)
				group.Wait()
				if failed != nil {
					return failed
				}
				if err != nil {
					return fmt.Errorf("the valid caller was refused during %s: %w", kind.name, err)
				}
				during = append(during, r)
			}
			one, two := median(alone), median(during)
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", kind.name, rounded(one.p50), rounded(two.p50), rounded(one.p99), rounded(two.p99))
		}
		return server.reportResident(out)
	})
}
