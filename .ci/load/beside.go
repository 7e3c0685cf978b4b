//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// besides are the writes beside readers of the unchanged page.
var besides = []struct {
	name       string
	path, body string
	other      bool // in another organisation
}{
	{name: "nothing"},
	{name: "another resource", path: "/api/v1/incidents", body: `{"title":"Outage"}`},
	{name: "another organisation", path: page, body: newRisk, other: true},
	{name: "the same list", path: page, body: newRisk},
}

const besidePerSecond = 500

// beside measures readers of the unchanged page while others write.
func beside(ctx context.Context, out io.Writer, b *bench) error {
	const scopes = "read:all,write:risks,write:incidents"
	server, key, err := b.register(ctx, scopes)
	if err != nil {
		return err
	}
	defer server.stop() //nolint:errcheck // its file is temporary
	if _, err := b.govsvc(ctx, "orgs", "create", "other", "--db", server.file); err != nil {
		return err
	}
	other, err := b.key(ctx, server.file, scopes, "--org", "other")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "## Readers of the unchanged page beside %d writes a second\n\n", besidePerSecond)
	fmt.Fprintln(out, "| writes to | connections | reads/s | of nothing | p50 | p99 | writes/s |\n|---|---|---|---|---|---|---|")
	reader := traffic{next: always(get(page, key))}
	for _, connections := range []int{1, 16} {
		reader.connections = connections
		reads, writes := make([][]result, len(besides)), make([][]result, len(besides))
		for range b.rounds {
			for i, w := range besides {
				writer := traffic{connections: 16, perSecond: besidePerSecond}
				switch {
				case w.other:
					writer.next = write("POST", other, w.path, func(int) string { return w.body })
				case w.path != "":
					writer.next = write("POST", key, w.path, func(int) string { return w.body })
				}
				read, written, err := b.together(ctx, server, reader, writer)
				if err != nil {
					return fmt.Errorf("writes to %s: %w", w.name, err)
				}
				reads[i], writes[i] = append(reads[i], read), append(writes[i], written)
			}
		}
		var alone float64
		for i, w := range besides {
			read, written := median(reads[i]), median(writes[i])
			if i == 0 {
				alone = read.rate
			}
			fmt.Fprintf(out, "| %s | %d | %.0f | %.2f | %s | %s | %.0f |\n", w.name, connections, read.rate, read.rate/alone, rounded(read.p50), rounded(read.p99), written.rate)
		}
	}
	return server.reportResident(out)
}

// together measures two kinds of traffic at the same time. The second one may be nothing.
func (b *bench) together(ctx context.Context, server *process, one, two traffic) (first, second result, err error) {
	var group sync.WaitGroup
	var failed error
	if two.next != nil {
		group.Go(func() { second, failed = server.measure(ctx, two, b.period) })
	}
	first, err = server.measure(ctx, one, b.period)
	group.Wait()
	if failed != nil {
		err = failed
	}
	return first, second, err
}
