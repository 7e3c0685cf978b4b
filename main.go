// Command govsvc is the AI-governance data service: one binary over one
// SQLite file. It only starts the command line; see package cmd.
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"govsvc/cmd"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup, which wants a command to outlive its terminal
		ending = append(ending, syscall.SIGHUP)
	}
	signal.Notify(signals, ending...)
	go func() {
		// The first signal asks a command to end in order. Before it does, signals
		// are the system's again, so that a second one ends the process at once.
		<-signals
		signal.Reset(ending...)
		cancel()
	}()
	os.Exit(cmd.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv, variables()...))
}

// variables returns the names of the variables in the environment.
func variables() []string {
	var names []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	return names
}
