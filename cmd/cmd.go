// Package cmd implements the command line, with one file for each command. It parses
// flags, calls the other packages and prints results. It is the only package that
// connects the other packages.
package cmd

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"govsvc/server/openapi"
)

// The exit statuses (contract, section 1).
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// loadDocument returns the OpenAPI document, which does not change while a process runs.
var loadDocument = sync.OnceValues(openapi.Load)

// app is one run of the program.
type app struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	env       func(string) (string, bool)
	variables []string // of the variables in the environment

	settings settings

	path   string // of the data file
	org    string // the organisation's name
	json   bool   // results as JSON
	reason string // of --reason, for the audit log

	// started is true after the command line was parsed. An earlier error is a wrong
	// command line.
	started bool
}

// Run runs one command line and returns its exit status. A signal cancels ctx. args
// do not include the program's name. env looks up a variable of the environment.
// names are all variables: Run reports those that look like settings but are not.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	env func(string) (string, bool), names ...string,
) (status int) {
	result := &checkedWriter{w: stdout}
	a := &app{stdin: stdin, stdout: result, stderr: stderr, env: env, variables: names}
	defer func() {
		if p := recover(); p != nil {
			a.started = true
			status = a.report(ctx, fmt.Errorf("internal error: %v; please report this with the command you ran", p))
		}
	}()
	root := newRootCommand(a) //nolint:contextcheck // commands get ctx from cobra, see ExecuteContext
	if isCompletion(args) {
		registerCompletions(a, root)
	}
	root.SetArgs(append([]string{}, args...)) // never nil, which cobra reads as os.Args
	err := root.ExecuteContext(ctx)
	if err == nil && result.err != nil {
		a.started = true // help and completion do not call start
		err = fmt.Errorf("can't write the result: %w", result.err)
	}
	return a.report(ctx, err)
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "govsvc",
		Short: "Governance data service: HTTP API, webhooks, key management and data transfer over one SQLite file",
		Long: `govsvc serves an organisation's AI-governance data (scores, risks, signals,
roadmap, compliance, vendors, talent, incidents, KPIs and an audit log) as an
HTTP JSON API, from one SQLite file, and sends events to webhook receivers.

Results go to stdout; progress, logs and errors to stderr. The exit status is
0 for success, 1 for a failure and 2 for a wrong command line. An error is one
line that says what went wrong and what to do.

A flag can be set by the environment variable shown after it in brackets, or in
the YAML file that --config names, with flag names as keys ("addr: :8080"). A
flag on the command line has priority over the environment, and the environment
over the file. An empty variable counts as not set. A repeatable flag takes its
values separated by commas, and in the file a list. An unknown name is an error
in the file and a warning in the environment. "govsvc serve --print-config"
prints the values in use and the source of each.

Commands that change data can run while "govsvc serve" runs on the same file.
The server sees the change immediately.`,
		Example: `  # start on an empty file with demonstration data
  govsvc serve --demo

  # mint a key and use it
  KEY=$(govsvc keys mint --name reports --scope read:all)
  curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8080/api/v1/risks

  # try the API without setting anything up
  govsvc sandbox

  # load data and export it
  govsvc import risks.ndjson vendors.ndjson
  govsvc export --out backup.ndjson`,
		Version:           programVersion().Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: a.start,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetUsageTemplate(usageTemplate)
	root.SetVersionTemplate("govsvc {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	a.path = "govsvc.db"
	root.PersistentFlags().Var(textValue{&a.path, "PATH", parseDataFile}, "db", "PATH of the data file")
	root.PersistentFlags().StringVar(&a.settings.config, "config", "", "YAML `FILE` with settings: flag names as keys")
	root.AddCommand(newServeCommand(a), newDeliverCommand(a), newSandboxCommand(a), newKeysCommand(a), newOrgsCommand(a), newUsersCommand(a),
		newImportCommand(a), newExportCommand(a), newWebhooksCommand(a), newDeadLettersCommand(a), newEvidenceCommand(a),
		newAuditCommand(a), newBackupCommand(a), newRestoreCommand(a), newCheckCommand(a), newOpenAPICommand(a), newVersionCommand(a), newManCommand())
	completeHelp(root)
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	prepareCommands(root)
	return root
}

// start runs before every command, after its flags are parsed.
func (a *app) start(c *cobra.Command, _ []string) error {
	if err := a.readSettings(c); err != nil {
		return err
	}
	if err := checkRequiredFlags(c); err != nil {
		return err
	}
	a.started = true
	return nil
}
