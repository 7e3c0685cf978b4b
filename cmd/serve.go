package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/db/backup"
	"govsvc/db/check"
	"govsvc/sandbox"
	"govsvc/server"
	"govsvc/server/api"
	"govsvc/server/certificates"
	"govsvc/server/limit"
	"govsvc/server/listener"
	"govsvc/server/memlimit"
	"govsvc/server/metrics"
	"govsvc/server/openapi"
	"govsvc/server/webhook"
	"govsvc/web"
	"govsvc/web/account"
	"govsvc/web/page"
)

const serveHelp = `Serve the HTTP API from the data file and deliver webhooks. The data file is
created if it does not exist.

When it is ready it prints "listening on http://HOST:PORT" (https:// with TLS)
on stdout, alone on a line. Logs go to stderr. The API is below /api/v1 and the
dashboard at /. /healthz answers while the process runs, /readyz while it can
read and write its file.

If no user exists, a second line, "first admin: URL", has a link to create one
in a browser. It works once, for 30 minutes, and a restart prints a new one.
"govsvc users add NAME --role admin" needs no link.

` + tlsHelp + `

` + webhookHelp + `

SIGTERM or SIGINT shuts it down: it accepts no new connections, running requests
end (within 20 seconds), deliveries under way end (within 5 seconds) and are
recorded, and counts are stored. The exit status is 0. A second signal ends it
immediately. Other commands can change the same file while it runs.

With --backup-dir it makes backups in that folder (see "govsvc backup"), with
the name of the data file and the time. It removes its own oldest backups. The
files in the folder show when the next backup is due, so a restart neither skips
nor repeats one. A failed backup is logged and tried again after 5 minutes, and
"govsvc check" reports it.

--print-config prints a YAML file for --config and ends. The file has every
setting and its source (flag, environment, file or default). Defaults are
comments. With --json it prints an object with value, source and from for each
setting.`

func newServeCommand(a *app) *cobra.Command {
	o := newServeOptions()
	c := &cobra.Command{
		Use:        "serve",
		SuggestFor: []string{"start", "run", "server"},
		Short:      "Serve the API and deliver webhooks",
		Long:       serveHelp,
		Example: `  govsvc serve --demo
  govsvc serve --db /var/lib/govsvc/govsvc.db --addr :443 --domain gov.example.com
  govsvc serve --addr :8443 --tls-cert cert.pem --tls-key key.pem --log-format json
  govsvc serve --backup-dir /var/backups/govsvc --backup-every 6h --backup-keep 28
  govsvc serve --addr :8080 --trusted-proxy 10.0.0.0/8 --base-url https://gov.example.com
  govsvc serve --webhook-allow 10.0.0.0/8 --webhook-ca /etc/ssl/our-ca.pem
  govsvc serve --addr :8080 --insecure --print-config > govsvc.yaml
  govsvc serve --config govsvc.yaml`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.printConfig {
				return errors.Join(printConfig(a, c), o.check(c))
			}
			if a.json && a.settings.source("json") == sourceFlag {
				return usageErrorf("--json goes with --print-config%s", helpHint(c))
			}
			if err := o.check(c); err != nil {
				return err
			}
			return runServe(c.Context(), a, o)
		},
	}
	o.add(c)
	c.Flags().BoolVar(&a.json, "json", false, "with --print-config: print one JSON object")
	return c
}

func runServe(ctx context.Context, a *app, o serveOptions) error {
	if err := o.tls.checkPlain(ctx, o.addr, len(o.trustedProxies) > 0); err != nil {
		return err
	}
	if err := o.observability.checkPlain(ctx, o.tls.insecure); err != nil {
		return err
	}
	document, err := loadDocument()
	if err != nil {
		return err
	}
	sandbox.RemoveLeftovers()
	sender, err := o.receivers.sender()
	if err != nil {
		return err
	}
	defer sender.Close()
	err = a.withStore(ctx, mayCreate, func(store *db.DB) error {
		if o.demo {
			if err := loadDemo(ctx, a, store, document); err != nil {
				return err
			}
		}
		l, err := listen(ctx, "--addr", o.addr, o.limits())
		if err != nil {
			return err
		}
		defer l.Close() //nolint:errcheck // closed by the server, unless that could not be made
		return serveOn(ctx, a, l, store, document, sender, o)
	})
	return unlessInterrupted(ctx, err)
}

// serveGC is the garbage collector's percentage (GOGC) of a server, which keeps 5 MB. With
// the default of 100 the collector would take a tenth of the processor time of reads.
const serveGC = 150

// serveOn makes the server and runs it until ctx ends, together with the delivery
// loop and the other background work.
func serveOn(ctx context.Context, a *app, l *listener.Listener, store *db.DB, document *openapi.Document,
	sender *webhook.Sender, o serveOptions,
) error {
	logger := a.logger(o.log)
	if exposed, err := backup.New(store).Exposed(ctx); err != nil {
		return err
	} else if len(exposed) > 0 {
		logger.Warn(check.ExposedText(exposed))
	}
	source, err := o.tls.certificates(store.File.Path(), logger)
	if err != nil {
		return err
	}
	url := urlOf(l, source.TLS)
	if o.baseURL == "" {
		o.baseURL = o.tls.publicURL(url)
	}
	deliverer := o.receivers.deliverer(store, sender, logger)
	var counted *metrics.Metrics
	if o.observability.metricsAddr != "" {
		counted = observed{store, document, l, source, deliverer, logger}.metrics()
	}
	responses := limit.NewBudget(0, 0)
	people := auth.New(store)
	defer people.Close()
	pages, firstLink, err := newPages(ctx, store, people, document, sender, responses, logger, o)
	if err != nil {
		return err
	}
	defer pages.Close()
	data := &sandboxData{}
	openData := func() (*db.DB, error) { return data.open(context.WithoutCancel(ctx), document) }
	handler, err := server.New(ctx, server.Config{
		Store: store, Document: document, Sandbox: openData, Logger: logger,
		Receivers: sender, SandboxReceivers: webhook.Simulator{Allow: o.receivers.allow},
		BaseURL: o.baseURL, Contact: o.contact, AllowOrigins: o.allowOrigins, TrustedProxies: o.trustedProxies,
		AnonymousPerMinute: *o.anonymousRPM, CacheBytes: int64(*o.answerMemory) << 20, Version: programVersion().Version,
		Pages: pages, Sessions: people.Sessions, Responses: responses,
		Metrics: counted, AccessLog: o.observability.accessLog,
	})
	if err != nil {
		return err
	}
	background, err := o.background(ctx, handler, store, source, deliverer, counted, logger)
	if err != nil {
		return err
	}
	defer collectLess(a, serveGC)()
	if given, _ := a.env("GOMEMLIMIT"); given == "" {
		memlimit.Set(os.DirFS("/"), memlimit.ForCaches(int64(*o.answerMemory)<<20), logger)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, work := range background {
		group.Go(func() error { return work(ctx) })
	}
	group.Go(func() error {
		logger.Info("serving", "address", url, "db", store.File.Path(), "version", programVersion().Version)
		fmt.Fprint(a.stdout, "listening on "+url+"\n"+firstLink)
		var service listener.Service = handler
		if source.TLS != nil {
			service = listener.StrictTransport{Service: handler}
		}
		return errors.Join(listener.Serve(ctx, l, source.TLS, service, logger), data.close())
	})
	return group.Wait()
}

// background prepares the work that runs beside the server until its context ends.
func (o *serveOptions) background(ctx context.Context, handler *server.Server, store *db.DB, source certificates.Source,
	deliverer *webhook.Deliverer, counted *metrics.Metrics, logger *slog.Logger,
) ([]func(context.Context) error, error) {
	works := []func(context.Context) error{deliverer.Run, source.Run}
	backups, err := o.backups.work(store, logger)
	if err != nil {
		return nil, err
	}
	works = append(works, backups)
	if counted != nil { // the last step that can fail, because nothing would close its listener
		serveMetrics, err := o.observability.serve(ctx, counted, logger)
		if err != nil {
			return nil, err
		}
		works = append(works, serveMetrics)
	}
	works = append(works, o.tls.redirect(ctx, *o, source, handler, logger))
	return slices.DeleteFunc(works, func(work func(context.Context) error) bool { return work == nil }), nil
}

// newPages makes the dashboard and, if no user exists, the line with the link to
// create the first one.
func newPages(ctx context.Context, store *db.DB, people *auth.Service, document *openapi.Document, receivers api.Receivers,
	responses *limit.Budget, logger *slog.Logger, o serveOptions,
) (pages *web.Site, firstLink string, err error) {
	proxies := server.Proxies(o.trustedProxies)
	config := web.Config{Config: page.Config{
		Store: store, Auth: people, Document: document, Logger: logger, Receivers: receivers, Responses: responses,
		Service: page.Service{
			BaseURL: o.baseURL, Version: programVersion().Version, Commit: programVersion().Commit,
			AnonymousPerMinute: *o.anonymousRPM, KeepAnswers: int64(*o.answerMemory) << 20,
			LiveReference: o.docsLive,
		},
		ClientAddress: proxies.ClientAddress, ClientGroup: proxies.ClientGroup, Secure: proxies.Secure,
	}}
	users, err := people.Users.Any(ctx)
	if err != nil {
		return nil, "", err
	}
	if !users {
		link, token := account.NewFirstLink(store.Now)
		config.FirstLink = link
		firstLink = "first admin: " + o.baseURL + account.FirstLinkPath(token) + "\n"
	}
	pages, err = web.New(config)
	return pages, firstLink, err
}

// sandboxData is the data set of test keys. The first request with a test key opens
// it.
type sandboxData struct {
	mutex sync.Mutex
	set   io.Closer
}

func (d *sandboxData) open(ctx context.Context, document *openapi.Document) (*db.DB, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	set, err := sandbox.Open(ctx, document)
	if err != nil {
		return nil, err
	}
	d.set = set
	return set.DB, nil
}

func (d *sandboxData) close() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.set == nil {
		return nil
	}
	return d.set.Close()
}
