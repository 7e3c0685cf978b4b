package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/sandbox"
	"govsvc/server"
	"govsvc/server/listener"
	"govsvc/server/openapi"
	"govsvc/server/webhook"
)

// sandboxOptions are the flags of sandbox.
type sandboxOptions struct {
	addr string
	log  logFlags
}

func newSandboxCommand(a *app) *cobra.Command {
	o := sandboxOptions{addr: "127.0.0.1:0", log: newLogFlags()}
	c := &cobra.Command{
		Use:        "sandbox",
		SuggestFor: []string{"try", "playground", "mock", "fake"},
		Short:      "Serve the API on synthetic data, with a test key, and leave nothing behind",
		Long: `Serve the API on synthetic data, for integrators. It needs no setup, and reads
and writes no data file (--db is not used). It mints a test key with all scopes.
It ends on SIGTERM or SIGINT with exit status 0 and leaves no file behind. If it
is killed, the next "govsvc sandbox" or "govsvc serve" of the same user removes
its files. When it is ready it prints on stdout:

  listening on http://HOST:PORT
  base URL http://HOST:PORT/api/v1
  test key KEY
  try COMMAND

COMMAND is a complete curl command. The data is the same in every run and every
version. A write is checked and answered as by the real service, but it is not
stored. No webhook is sent, and the test of a subscription answers "delivered".
URLs of subscriptions may lead to loopback.

With --json stdout has one object instead, on one line: message, url, base_url,
key, scopes and try.`,
		Example: `  govsvc sandbox
  govsvc sandbox --addr 127.0.0.1:4010 --json`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return unlessInterrupted(c.Context(), runSandbox(c.Context(), a, o))
		},
	}
	c.Flags().Var(textValue{&o.addr, "HOST:PORT", parseAddress}, "addr", "the address to listen on; port 0 picks a free one")
	o.log.add(c)
	a.jsonFlag(c)
	return c
}

// runSandbox runs the sandbox on a data file that has only its key, in a folder that is
// removed at the end.
func runSandbox(ctx context.Context, a *app, o sandboxOptions) (err error) {
	document, err := loadDocument()
	if err != nil {
		return err
	}
	l, err := listen(ctx, "--addr", o.addr, listener.Limits{Connections: listener.DefaultConnections})
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // closed by the server, unless that could not be made
	sandbox.RemoveLeftovers()
	folder, err := sandbox.NewFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	a.path = filepath.Join(folder.Path, "govsvc.db")
	return a.withStore(ctx, mayCreate, func(store *db.DB) error {
		data, err := sandbox.Open(ctx, document)
		if err != nil {
			return err
		}
		return errors.Join(serveSandbox(ctx, a, l, store, data, document, o), data.Close())
	})
}

func serveSandbox(ctx context.Context, a *app, l *listener.Listener, store *db.DB, data *sandbox.Sandbox,
	document *openapi.Document, o sandboxOptions,
) error {
	url := urlOf(l, nil)
	logger := a.logger(o.log)
	handler, err := server.New(ctx, server.Config{
		Store: store, Document: document, Sandbox: func() (*db.DB, error) { return data.DB, nil }, Logger: logger,
		SandboxReceivers: webhook.Simulator{Allow: webhook.Loopback},
		BaseURL:          url, AnonymousPerMinute: anonymousRPM, Version: programVersion().Version,
	})
	if err != nil {
		return err
	}
	org, err := store.Orgs.ByName(ctx, db.DefaultOrganisation)
	if err != nil {
		return err
	}
	_, key, err := store.Keys.Mint(ctx, a.actor(org.Org),
		db.KeyDraft{Name: "sandbox", Kind: db.TestKey, Scopes: openapi.Scopes()})
	if err != nil {
		return err
	}
	logger.Info("serving the sandbox", "address", url, "version", programVersion().Version)
	if err := printSandbox(a, newSandbox(url, key)); err != nil {
		return err
	}
	return listener.Serve(ctx, l, nil, handler, logger)
}

// runningSandbox is the result of sandbox.
type runningSandbox struct {
	Message string   `json:"message"`
	URL     string   `json:"url"`
	BaseURL string   `json:"base_url"`
	Key     string   `json:"key"`
	Scopes  []string `json:"scopes"`
	Try     string   `json:"try"`
}

func newSandbox(url, key string) runningSandbox {
	base := url + server.Base
	return runningSandbox{
		"listening on " + url, url, base, key, openapi.Scopes(),
		fmt.Sprintf(`curl -sS -H "Authorization: Bearer %s" "%s/risks?limit=3"`, key, base),
	}
}

func printSandbox(a *app, s runningSandbox) error {
	if a.json {
		a.note("%s", s.Message)
		return a.printLine(s)
	}
	_, err := io.WriteString(a.stdout, s.Message+"\nbase URL "+s.BaseURL+"\ntest key "+s.Key+"\ntry "+s.Try+"\n")
	return err
}
