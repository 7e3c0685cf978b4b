package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
)

// page is the most common read: 25 risks.
const page = "/api/v1/risks"

// reads compares an unchanged page with a bare handler.
func reads(ctx context.Context, out io.Writer, b *bench) error {
	return b.compare(ctx, out, "An unchanged page", b.sizes[0], func(_ context.Context, _, key string) (request, error) {
		return get(page, key), nil
	})
}

// cold compares pages that are not in memory. It requests more pages in turn than
// the server holds in memory.
func cold(ctx context.Context, out io.Writer, b *bench) error {
	return b.compare(ctx, out, "A cold page, each request another cursor", b.sizes[1], coldPages)
}

// coldPages walks the whole register once for its cursors, and then requests the
// pages in turn, on all connections together. If each connection walked separately,
// pages would be requested again while the server still counts the requests.
func coldPages(ctx context.Context, address, key string) (request, error) {
	var pages [][]byte
	for path := page; ; {
		pages = append(pages, get(path, key)(0, 0))
		cursor, err := nextCursor(ctx, address, pages[len(pages)-1])
		if err != nil {
			return nil, err
		}
		if cursor == "" {
			break
		}
		path = page + "?cursor=" + cursor
	}
	var sent atomic.Int64
	return func(int, int) []byte { return pages[int(sent.Add(1))%(len(pages)-1)] }, nil // the last page is not full
}

// compare measures requests for pages of risks and a bare handler that writes the
// bytes of the first page.
func (b *bench) compare(ctx context.Context, out io.Writer, title string, risks int,
	requests func(ctx context.Context, address, key string) (request, error),
) error {
	return b.withServer(ctx, risks, "read:all", func(server *process, key string) error {
		next, err := requests(ctx, server.address, key)
		if err != nil {
			return err
		}
		body, err := fetch(ctx, server.address, next(0, 0))
		if err != nil {
			return err
		}
		same := filepath.Join(b.folder, "page.json")
		if err := os.WriteFile(same, body, 0o600); err != nil {
			return err
		}
		other, err := bare(ctx, same)
		if err != nil {
			return err
		}
		defer other.stop() //nolint:errcheck // it is being thrown away
		fmt.Fprintf(out, "## %s: 25 risks (%d bytes), authenticated\n\n", title, len(body))
		fmt.Fprintln(out, "| connections | govsvc/s | p50 | p99 | bare chi/s | share |\n|---|---|---|---|---|---|")
		for _, connections := range []int{1, 16, 64} {
			ours, theirs, err := b.pair(ctx, connections, side{server.address, next}, side{other.address, get(page, "")})
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "| %d | %.0f | %s | %s | %.0f | %.2f |\n", connections, ours.rate, rounded(ours.p50), rounded(ours.p99), theirs.rate, ours.rate/theirs.rate)
		}
		return server.reportResident(out)
	})
}

// side is one of the two sides of a comparison.
type side struct {
	address string
	next    request
}

// pair measures two sides in turn and returns the median of each.
func (b *bench) pair(ctx context.Context, connections int, one, two side) (result, result, error) {
	var ones, twos []result
	for range b.rounds {
		first, err := load(ctx, one.address, connections, b.period, one.next)
		if err != nil {
			return first, first, err
		}
		second, err := load(ctx, two.address, connections, b.period, two.next)
		if err != nil {
			return second, second, err
		}
		ones, twos = append(ones, first), append(twos, second)
	}
	return median(ones), median(twos), nil
}

func median(results []result) result {
	slices.SortFunc(results, func(a, b result) int { return int(a.rate - b.rate) })
	return results[len(results)/2]
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// sizes measures pages of files of different sizes, without responses in memory.
func sizes(ctx context.Context, out io.Writer, b *bench) error {
	fmt.Fprintln(out, "## Pages by the size of the register\n\nThe median time of a page on one connection, without responses held in memory.\n\n| risks | import/s | file MB | first | half depth | severity | severity, status | changed recently | changed ever, severity | worst, as a multiple of the first page of the smallest |\n|---|---|---|---|---|---|---|---|---|---|")
	var smallest time.Duration
	for _, n := range b.sizes {
		if err := b.forget(n); err != nil {
			return err
		}
		begun := time.Now()
		path, err := b.file(ctx, n)
		if err != nil {
			return err
		}
		rate := float64(n) / time.Since(begun).Seconds()
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		times, err := b.pages(ctx, path, n)
		if err != nil {
			return err
		}
		if smallest == 0 {
			smallest = times[0]
		}
		fmt.Fprintf(out, "| %d | %.0f | %.1f |", n, rate, float64(info.Size())/1e6)
		for _, took := range times {
			fmt.Fprintf(out, " %s |", took.Round(time.Microsecond))
		}
		fmt.Fprintf(out, " %.2f |\n", float64(slices.Max(times))/float64(smallest))
	}
	_, err := fmt.Fprintln(out)
	return err
}

// pages returns the columns of sizes.
func (b *bench) pages(ctx context.Context, path string, risks int) ([]time.Duration, error) {
	key, err := b.key(ctx, path, "read:all")
	if err != nil {
		return nil, err
	}
	server, err := b.serve(ctx, path, "--answer-memory", "0")
	if err != nil {
		return nil, err
	}
	defer server.stop() //nolint:errcheck // it is being thrown away
	half, most := page, page+"?limit=100"
	for range risks / 2 / 100 {
		cursor, err := nextCursor(ctx, server.address, get(most, key)(0, 0))
		if err != nil {
			return nil, err
		}
		half, most = page+"?cursor="+cursor, page+"?limit=100&cursor="+cursor
	}
	var times []time.Duration
	for _, query := range []string{page, half, page + "?severity=LOW", page + "?severity=LOW&status=Open", page + "?updated_since=2099-01-01", page + "?updated_since=2000-01-01&severity=LOW"} {
		var all []result
		for range b.rounds {
			r, err := load(ctx, server.address, 1, b.period/2, get(query, key))
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
		times = append(times, median(all).p50)
	}
	return times, nil
}

// nextCursor returns the cursor after a page; it is empty after the last page.
func nextCursor(ctx context.Context, address string, wanted []byte) (string, error) {
	body, err := fetch(ctx, address, wanted)
	if err != nil {
		return "", err
	}
	var list struct {
		Cursor *string `json:"next_cursor"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Cursor == nil {
		return "", err
	}
	return *list.Cursor, nil
}

// start measures the time from the launch to the first response.
func start(ctx context.Context, out io.Writer, b *bench) error {
	path, err := b.file(ctx, b.sizes[len(b.sizes)-1])
	if err != nil {
		return err
	}
	key, err := b.key(ctx, path, "read:all")
	if err != nil {
		return err
	}
	var public, keyed []time.Duration
	for range b.rounds {
		for _, one := range []struct {
			next request
			into *[]time.Duration
		}{{get("/api/v1/", ""), &public}, {get(page, key), &keyed}} {
			begun := time.Now()
			server, err := b.serve(ctx, path)
			if err != nil {
				return err
			}
			if _, err := fetch(ctx, server.address, one.next(0, 0)); err != nil {
				return err
			}
			*one.into = append(*one.into, time.Since(begun))
			if err := server.stop(); err != nil {
				return err
			}
		}
	}
	slices.Sort(public)
	slices.Sort(keyed)
	info, err := os.Stat(b.binary)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "## Start and size\n\nWith %d risks, the first response comes %d ms after launch if it is the index. It comes after %d ms if it is a page, because the key is hashed for the first time. Program: %.1f MB, stripped.\n\n",
		b.sizes[len(b.sizes)-1], public[len(public)/2].Milliseconds(), keyed[len(keyed)/2].Milliseconds(), float64(info.Size())/1e6)
	return err
}
