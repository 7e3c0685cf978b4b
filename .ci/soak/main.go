// Command soak runs govsvc under a mixed load for a long time and checks that
// memory, goroutines, descriptors, files and latencies do not grow. First it finds
// the peak of the load. Then it keeps a share of the peak, prints a line of a
// Markdown table every minute, and exits with status 1 if a bound is exceeded. It
// starts and stops the server and a webhook receiver, in a temporary folder.
//
//	go run ./.ci/soak              two hours at half of the peak
//	go run ./.ci/soak -for 8m      a short run
//	go run ./.ci/soak -rate 200    200 requests a second
//
// verdict.go has the bounds; doc/reliability.md explains them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.DurationVar(&o.length, "for", 2*time.Hour, "how long the load lasts")
	flag.DurationVar(&o.every, "every", time.Minute, "the time that each line of the table covers")
	flag.DurationVar(&o.peakPeriod, "peak", 20*time.Second, "how long the search for the peak takes")
	flag.Float64Var(&o.share, "share", 0.5, "the share of the peak to keep")
	flag.Float64Var(&o.rate, "rate", 0, "requests a second, instead of a share of the peak")
	flag.StringVar(&o.binary, "binary", "", "the program; by default it is built from this folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// options of a run.
type options struct {
	length, every, peakPeriod time.Duration
	share, rate               float64
	binary                    string
}

// minLines is the number of lines that are needed to judge growth. The first line is
// ignored, and the others are divided into thirds and halves.
const minLines = 5

func run(ctx context.Context, o options) (err error) {
	if o.every <= 0 || o.length/o.every < minLines {
		return fmt.Errorf("-for %s is shorter than %d times -every %s: growth could not be judged", o.length, minLines, o.every)
	}
	folder, err := os.MkdirTemp("", "govsvc-soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	h, err := prepare(ctx, folder, o.binary)
	if err != nil {
		return err
	}
	defer h.end() //nolint:errcheck // checkResult ended it and checked the error, unless an earlier step failed
	rate := o.rate
	if rate == 0 {
		peak, err := h.peak(ctx, o.peakPeriod)
		if err != nil {
			return err
		}
		rate = o.share * peak
		fmt.Printf("Peak of the mix: %.0f requests a second on %d connections.\n", peak, connections)
	}
	fmt.Printf("%s/%s, %d cores, %s. %.0f requests a second for %s; the load comes from the same machine.\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), rate, o.length)
	lines, err := h.hold(ctx, rate, o)
	if err != nil {
		return err
	}
	if err := h.checkResult(ctx); err != nil {
		return err
	}
	if exceeded := verdict(lines); len(exceeded) > 0 {
		return errors.Join(exceeded...)
	}
	fmt.Println("\nNothing exceeded its bound.")
	return nil
}
