//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

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
		l, err := readList(ctx, server.address, get(most, key))
		if err != nil {
			return nil, err
		}
		half, most = page+"?cursor="+l.Cursor, page+"?limit=100&cursor="+l.Cursor
	}
	var times []time.Duration
	for _, query := range []string{page, half, page + "?severity=LOW", page + "?severity=LOW&status=Open", page + "?updated_since=2099-01-01", page + "?updated_since=2000-01-01&severity=LOW"} {
		var all []result
		for range b.rounds {
			r, err := server.measure(ctx, traffic{connections: 1, next: always(get(query, key))}, b.period/2)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
		times = append(times, median(all).p50)
	}
	return times, nil
}

// list is a page of risks. Its cursor is empty after the last page.
type list struct {
	Data   []struct{ ID string }
	Cursor string `json:"next_cursor"`
}

func readList(ctx context.Context, address string, message []byte) (list, error) {
	var l list
	body, err := fetch(ctx, address, message)
	if err == nil {
		err = json.Unmarshal(body, &l)
	}
	return l, err
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
			message []byte
			into    *[]time.Duration
		}{{get("/api/v1/", ""), &public}, {get(page, key), &keyed}} {
			begun := time.Now()
			server, err := b.serve(ctx, path)
			if err != nil {
				return err
			}
			if _, err := fetch(ctx, server.address, one.message); err != nil {
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
