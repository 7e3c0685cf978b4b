// Command soak runs govsvc under a mixed load for a long time and looks whether
// anything grows that should not: memory, goroutines, descriptors, files,
// latencies. It finds the peak of the load first, holds a share of it, prints a
// line of a Markdown table every minute, and exits with 1 if a bound is broken.
// It starts and ends the server and a webhook receiver itself, in a temporary
// folder.
//
//	go run ./.ci/soak              two hours at half of the peak
//	go run ./.ci/soak -for 8m      a look
//	go run ./.ci/soak -rate 200    at that many requests a second
//
// The bounds stand in verdict.go; doc/reliability.md says what they are for.
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
	flag.DurationVar(&o.length, "for", 2*time.Hour, "how long the load is held")
	flag.DurationVar(&o.every, "every", time.Minute, "the time of a line of the table")
	flag.DurationVar(&o.spell, "peak", 20*time.Second, "how long the peak is looked for")
	flag.Float64Var(&o.share, "share", 0.5, "the share of the peak that is held")
	flag.Float64Var(&o.rate, "rate", 0, "requests a second, instead of a share of the peak")
	flag.StringVar(&o.binary, "binary", "", "the program; built from this folder if none is named")
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
	length, every, spell time.Duration
	share, rate          float64
	binary               string
}

// leastLines of the table say something about growth: fewer can't be halved
// after the first was left out.
const leastLines = 5

func run(ctx context.Context, o options) (err error) {
	if o.every <= 0 || o.length/o.every < leastLines {
		return fmt.Errorf("-for %s has fewer than %d times -every %s: nothing could be said about growth", o.length, leastLines, o.every)
	}
	folder, err := os.MkdirTemp("", "govsvc-soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	s, err := prepare(ctx, folder, o.binary)
	if err != nil {
		return err
	}
	defer s.end() //nolint:errcheck // wholesome ended it and looked, unless something failed before
	rate := o.rate
	if rate == 0 {
		peak, err := s.peak(ctx, o.spell)
		if err != nil {
			return err
		}
		rate = o.share * peak
		fmt.Printf("Peak of the mix: %.0f requests a second on %d connections.\n", peak, connections)
	}
	fmt.Printf("%s/%s, %d cores, %s. %.0f requests a second for %s; the load comes from the same machine.\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), rate, o.length)
	lines, err := s.hold(ctx, rate, o)
	if err != nil {
		return err
	}
	if err := s.wholesome(ctx); err != nil {
		return err
	}
	if broken := verdict(lines); len(broken) > 0 {
		return errors.Join(broken...)
	}
	fmt.Println("\nNothing grew beyond its bound.")
	return nil
}
