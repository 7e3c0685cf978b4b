package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/server/listener"
)

// anonymousRPM is the default of --anonymous-rpm.
const anonymousRPM = 6000

// serveOptions are the flags of serve.
type serveOptions struct {
	addr           string
	baseURL        string
	contact        string
	trustedProxies networkList
	allowOrigins   []string
	anonymousRPM   *int
	answerMemory   *int
	maxConnections *int
	tls            tlsFlags
	observability  observabilityFlags
	receivers      webhookFlags
	backups        backupFlags
	log            logFlags
	printConfig    bool
	demo           bool
	docsLive       bool
}

// newServeOptions returns the defaults.
func newServeOptions() serveOptions {
	perMinute, megabytes, connections := anonymousRPM, 16, listener.DefaultConnections
	return serveOptions{
		addr: "127.0.0.1:8080", anonymousRPM: &perMinute, answerMemory: &megabytes, maxConnections: &connections,
		receivers: newWebhookFlags(), backups: newBackupFlags(), log: newLogFlags(),
	}
}

// add defines the flags on a command.
func (o *serveOptions) add(c *cobra.Command) {
	flags := c.Flags()
	flags.Var(textValue{&o.addr, "HOST:PORT", parseAddress}, "addr", "the address to listen on; port 0 picks a free one")
	flags.Var(textValue{&o.baseURL, "URL", parseOrigin}, "base-url", "the service's address as shown to users, without a path; default: the first --domain, or the address that it listens on")
	flags.Var(textValue{&o.contact, "EMAIL|URL", parseContact}, "contact", "e-mail address or URL that the OpenAPI document names as the contact; default: none")
	flags.Var(listValue{&o.allowOrigins, checkOrigin, "ORIGIN"}, "allow-origin", "another origin of browser pages that may call MCP, besides the service's own; repeatable, or separated by commas")
	flags.Var(&o.trustedProxies, "trusted-proxy", "network of proxies whose X-Forwarded-For and X-Forwarded-Proto count; repeatable, or separated by commas")
	flags.Var(countValue{&o.answerMemory, 0}, "answer-memory", "megabytes of memory for cached responses, which are valid until their records change; 0 caches none")
	flags.Var(countValue{&o.anonymousRPM, 0}, "anonymous-rpm", "requests a minute that an address may make without a valid key; 0 is no limit")
	flags.Var(countValue{&o.maxConnections, 0}, "max-connections", "connections that may be open at once, a quarter of them from one address; 0 is no limit")
	o.tls.add(c)
	o.receivers.add(c)
	o.backups.add(c)
	o.log.add(c)
	o.observability.add(c)
	flags.BoolVar(&o.docsLive, "docs-live", false, "let people try the API reference at /docs on live data, with a key that they paste; the page keeps it in memory only")
	flags.BoolVar(&o.demo, "demo", false, "load the demonstration data first, if the file has no records")
	flags.BoolVar(&o.printConfig, "print-config", false, "print the settings and where each came from, as YAML for --config, and do not serve")
}

// check refuses flags that exclude each other.
func (o *serveOptions) check(c *cobra.Command) error {
	if err := o.tls.check(c); err != nil {
		return err
	}
	return o.backups.check(c)
}

// limits returns those of --max-connections and --trusted-proxy.
func (o *serveOptions) limits() listener.Limits {
	return listener.Limits{Connections: *o.maxConnections, Proxies: o.trustedProxies}
}
