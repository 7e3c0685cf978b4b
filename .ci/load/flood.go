//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
)

// flood measures a valid caller while others present invalid keys. First the others
// present valid keys, which shows the effect of the load itself.
func flood(ctx context.Context, out io.Writer, b *bench) error {
	server, key, err := b.register(ctx, "read:all")
	if err != nil {
		return err
	}
	defer server.stop() //nolint:errcheck // its file is temporary
	const wrong = "HTTP/1.1 401"
	former := "gov_live_" + strings.Repeat("k", 30)
	if _, err := b.govsvcIn(ctx, former, "keys", "import", "--db", server.file, "--name", "former", "--scope", "read:all"); err != nil {
		return err
	}
	fmt.Fprintln(out, "## A valid caller at 200 requests a second, with 800 others a second\n\nThe others present valid keys, or one kind of invalid key.\n\n| keys of the others | p50 alone | p50 | p99 alone | p99 |\n|---|---|---|---|---|")
	good := traffic{connections: 1, perSecond: 200, next: always(get(page, key))}
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
			r, err := server.measure(ctx, good, b.period)
			if err != nil {
				return err
			}
			alone = append(alone, r)
			var group sync.WaitGroup
			var failed error
			group.Go(func() {
				_, failed = server.measure(ctx, traffic{connections: 16, perSecond: 800, want: kind.status, next: func(n int) []byte {
					return get(page, kind.key(n))
				}}, b.period)
			})
			r, err = server.measure(ctx, good, b.period)
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
}
