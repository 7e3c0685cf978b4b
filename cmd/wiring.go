package cmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/listener"
)

// fileNeed says whether a command can make the data file.
type fileNeed int

const (
	mustExist fileNeed = iota // the data file must exist
	mayCreate                 // it is created if it does not exist
)

// parseDataFile parses the path of the data file.
func parseDataFile(text string) (string, error) {
	if text == "" { // an unset variable of a script
		return "", errors.New("the path of the data file is empty")
	}
	return text, nil
}

// system is the actor of the command line in the audit log.
const system = "system"

// withStore runs a command on the data file.
func (a *app) withStore(ctx context.Context, need fileNeed, run func(*db.DB) error) error {
	store, err := db.Open(ctx, db.Options{Path: a.path, MustExist: need == mustExist})
	if err != nil {
		return err
	}
	return errors.Join(store.File.Explain(run(store)), store.Close())
}

// withOrg runs a command on one organisation of the data file. A file that is made
// has only the default one.
func (a *app) withOrg(ctx context.Context, need fileNeed, run func(*db.DB, db.Organisation) error) error {
	if a.org != db.DefaultOrganisation {
		need = mustExist
	}
	return a.withStore(ctx, need, func(store *db.DB) error {
		org, err := store.Orgs.ByName(ctx, a.org)
		if err != nil {
			return err
		}
		return run(store, org)
	})
}

// inOrg returns a function that runs a command without arguments on an organisation
// of an existing data file.
func inOrg(a *app, run func(context.Context, *app, *db.DB, db.Organisation) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		return a.withOrg(c.Context(), mustExist, func(store *db.DB, org db.Organisation) error {
			return run(c.Context(), a, store, org)
		})
	}
}

// withAuditLog runs a command on the audit log of one organisation, which may
// have been removed.
func (a *app) withAuditLog(ctx context.Context, run func(*db.DB, db.Organisation) error) error {
	return a.withStore(ctx, mustExist, func(store *db.DB) error {
		org, err := store.Orgs.ByNameWithRemoved(ctx, a.org)
		if err != nil {
			return err
		}
		return run(store, org)
	})
}

// orgFlag adds --org to a command that works on one organisation.
func (a *app) orgFlag(commands ...*cobra.Command) {
	for _, c := range commands {
		c.Flags().StringVar(&a.org, "org", db.DefaultOrganisation, "`NAME` of the organisation to work on")
	}
}

// jsonFlag adds --json to a command that prints a result.
func (a *app) jsonFlag(commands ...*cobra.Command) {
	for _, c := range commands {
		c.Flags().BoolVar(&a.json, "json", false, "print the result as one JSON value, for scripts")
	}
}

// Formats of the log.
const (
	logText = "text"
	logJSON = "json"
)

// logLevels are the values of --log-level.
var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// logFlags are the flags about the log on stderr.
type logFlags struct{ format, level string }

func newLogFlags() logFlags { return logFlags{logText, "info"} }

// add adds them to a command that runs until it is stopped.
func (l *logFlags) add(c *cobra.Command) {
	c.Flags().Var(choiceValue[string]{&l.format, []string{logText, logJSON}, "FORMAT"}, "log-format", "format of the log on stderr: text or json")
	c.Flags().Var(choiceValue[string]{&l.level, []string{"debug", "info", "warn", "error"}, "LEVEL"}, "log-level", "lowest level that is logged: debug, info, warn or error")
}

func (a *app) logger(l logFlags) *slog.Logger {
	options := &slog.HandlerOptions{Level: logLevels[l.level]}
	if l.format == logJSON {
		return slog.New(slog.NewJSONHandler(a.stderr, options))
	}
	return slog.New(slog.NewTextHandler(a.stderr, options))
}

// listen opens the address that a flag names.
func listen(ctx context.Context, flag, addr string, limits listener.Limits) (*listener.Listener, error) {
	l, err := listener.Listen(ctx, addr, limits)
	if err != nil {
		return nil, cannotListen(flag, addr, err)
	}
	return l, nil
}

func cannotListen(flag, addr string, err error) error {
	return fmt.Errorf("can't listen on %s: %w; choose another address with %s", addr, err, flag)
}

// urlOf returns the URL under which clients reach a listener.
func urlOf(l *listener.Listener, secure *tls.Config) string {
	if secure == nil {
		return "http://" + l.HostPort()
	}
	return "https://" + l.HostPort()
}

// unlessInterrupted returns err, or nil if err only reports that a signal arrived
// before the command was ready.
func unlessInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
