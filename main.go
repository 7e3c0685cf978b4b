// Command govsvc is the AI-governance data service: one binary over one
// SQLite file. It only starts the command line; see package cmd.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"govsvc/cmd"
)

func main() {
	// The first signal asks a command to end in order. It also gives signals
	// back to the system, so that a second one ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	os.Exit(cmd.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
}
