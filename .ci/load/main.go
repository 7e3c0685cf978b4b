// Command load measures govsvc from outside, over loopback: rates, latencies,
// start and memory. It compares reads with a bare chi handler that writes the same
// bytes, and writes with a handler behind a mutex. It starts and stops every
// process that it measures, in temporary folders, and prints Markdown.
//
//	go run ./.ci/load              prints the tables of doc/performance.md
//	go run ./.ci/load -short       measures briefly
//	go run ./.ci/load -only reads  prints one table
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options of a run.
type options struct {
	period time.Duration // one measurement of one side
	rounds int           // pairs of measurements, whose median counts
	sizes  []int         // risks in the file
	only   string
}

func main() {
	if len(os.Args) == 3 { // a process that govsvc is compared with
		switch os.Args[1] {
		case "bare":
			log.Fatal(serveBare(os.Args[2]))
		case "mutex":
			log.Fatal(serveMutex(os.Args[2]))
		}
	}
	short := flag.Bool("short", false, "measure briefly, on small files")
	only := flag.String("only", "", "print only this table: "+strings.Join(names(), ", "))
	sizes := flag.String("sizes", "", "numbers of risks in the files, such as 1000,100000,5000000")
	flag.Parse()
	o := options{period: 2 * time.Second, rounds: 5, sizes: []int{1_000, 100_000, 1_000_000}, only: *only}
	if *short {
		o.period, o.rounds, o.sizes = 500*time.Millisecond, 3, []int{1_000, 100_000}
	}
	if *sizes != "" {
		o.sizes = nil
		for size := range strings.SplitSeq(*sizes, ",") {
			n, err := strconv.Atoi(size)
			if err != nil || n < 100 {
				log.Fatalf("-sizes takes numbers of 100 or more, such as 1000,100000, and not %q", size)
			}
			o.sizes = append(o.sizes, n)
		}
		if len(o.sizes) < 2 {
			log.Fatal("-sizes takes two numbers or more")
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// measurement is one table.
type measurement struct {
	name    string
	measure func(context.Context, io.Writer, *bench) error
}

var measurements = []measurement{
	{"reads", reads},
	{"cold", cold},
	{"sizes", sizes},
	{"start", start},
	{"writes", writes},
	{"checkins", checkins},
	{"tools", tools},
	{"flood", flood},
}

func names() []string {
	var all []string
	for _, m := range measurements {
		all = append(all, m.name)
	}
	return all
}

// bench has what the measurements share.
type bench struct {
	options
	folder string
	binary string

	syncDelay time.Duration // added to each sync of a launched process
}

func run(ctx context.Context, out io.Writer, o options) error {
	if o.only != "" && !slices.Contains(names(), o.only) {
		return fmt.Errorf("-only takes one of %s", strings.Join(names(), ", "))
	}
	folder, err := os.MkdirTemp("", "govsvc-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b := &bench{options: o, folder: folder, binary: filepath.Join(folder, "govsvc")}
	if err := b.build(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s/%s, %d cores, %s; load from another process over loopback, medians of %d interleaved periods of %s.\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), o.rounds, o.period)
	for _, m := range measurements {
		if o.only == "" || o.only == m.name {
			if err := m.measure(ctx, out, b); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	return nil
}
