//go:build linux

// Command load measures govsvc from outside, over loopback: rates, latencies,
// processor time, start and memory. It compares reads with a bare chi handler that
// writes the same bytes, writes with a handler behind a mutex, and both with
// PocketBase. It starts and stops every process that it measures, in temporary
// folders, and prints Markdown. It needs Linux, for epoll, /proc and strace.
//
//	go run ./.ci/load -pocketbase              prints the tables of doc/performance.md
//	go run ./.ci/load -short                   measures briefly
//	go run ./.ci/load -only rates              prints one table
//	go run ./.ci/load -only rates -rows page   prints the rows of rates whose names match
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
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options of a run.
type options struct {
	period time.Duration // one measurement of one side
	rounds int           // pairs of measurements, whose median counts
	sizes  []int         // risks in the file
	only   string
	rows   *regexp.Regexp // of the table of rates

	pocketBase  bool
	transferred int // risks of an import and of an export
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
	rows := flag.String("rows", "", "print only the rows of rates that match this expression")
	pocketBase := flag.Bool("pocketbase", false, "compare with "+peerModule+", which takes minutes to build")
	transferred := flag.Int("transferred", 100_000, "how many risks are imported and exported, and how many check-ins imported")
	sizes := flag.String("sizes", "", "numbers of risks in the files, such as 1000,100000,5000000")
	flag.Parse()
	o := options{period: 2 * time.Second, rounds: 5, sizes: []int{1_000, 100_000, 1_000_000}, only: *only, pocketBase: *pocketBase, transferred: *transferred}
	var err error
	if o.rows, err = regexp.Compile(*rows); err != nil {
		log.Fatalf("-rows: %v", err)
	}
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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
	{"rates", rates},
	{"beside", beside},
	{"transfer", transfer},
	{"webhooks", webhooks},
	{"sizes", sizes},
	{"start", start},
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
	folder  string
	binary  string
	indexed bool // see index

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
	if b.pocketBase {
		if err := b.buildPeer(ctx); err != nil {
			return fmt.Errorf("PocketBase: %w", err)
		}
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
