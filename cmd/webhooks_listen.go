package cmd

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"govsvc/server/listener"
	"govsvc/server/webhook/receiver"
)

// listenOptions are the flags of webhooks listen.
type listenOptions struct {
	addr      string
	secret    string
	forwardTo string
	authority string // a file
}

func newWebhooksListenCommand(a *app) *cobra.Command {
	o := listenOptions{addr: "127.0.0.1:0"}
	c := &cobra.Command{
		Use:        "listen",
		SuggestFor: []string{"receive", "receiver", "forward", "tail"},
		Short:      "Receive webhooks on this machine: verify and print or forward them",
		Long: `Receive webhooks on this machine, over https with a new certificate, until
SIGTERM or SIGINT (exit status 0). Stdout begins with two lines:

  listening on https://HOST:PORT
  trust FILE

Every path below that address accepts webhooks. FILE is the certificate
authority to trust, in PEM: pass it to --webhook-ca of "govsvc serve" or "govsvc
webhooks trigger". FILE is removed at the end. With --ca it is a file that you
name. It is kept with its key and used again by the next run. To reach loopback,
serve needs --webhook-allow 127.0.0.0/8.

With --secret both signatures (X-Service-Signature and webhook-signature) and
the time are verified. A valid webhook is "verified", and another one is "BAD
SIGNATURE" and gets the status 401. Without --secret all are "unverified". Each
webhook is printed with its time, type, event id, delivery id and body, and gets
the status 200. A repeated event shows how often it was received.

With --forward-to a webhook is forwarded instead, with body and headers
unchanged. Its sender gets the target's response, or 502 if the target can't be
reached. Each webhook is one line of output. With --secret, only verified
webhooks are forwarded.

With --json every line of stdout is an object. The first one has message, url
and ca_file. The object of a webhook has received_at, type, event_id,
delivery_id, seen (how often the event was received), signature (verified,
unverified or bad), problem (why a signature is bad or the target can't be
reached, or null), forwarded_to (or null), status (of the response) and body.`,
		Example: `  govsvc webhooks listen
  govsvc webhooks listen --addr 127.0.0.1:9443 --ca ca.pem --secret "$SECRET"
  govsvc webhooks listen --secret "$SECRET" --forward-to http://localhost:3000/hook
  govsvc webhooks listen --json | jq 'select(.type == "risk.created") | .body.data.risk'`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error { return runWebhooksListen(c.Context(), a, o) },
	}
	flags := c.Flags()
	flags.Var(textValue{&o.addr, "HOST:PORT", parseAddress}, "addr", "the address to listen on; port 0 picks a free one")
	flags.Var(textValue{&o.secret, "SECRET", parseSecret}, "secret", "verify with this signing secret (whsec_...)")
	flags.Var(textValue{&o.forwardTo, "URL", parseForwardTarget}, "forward-to", "forward webhooks to this http or https URL")
	flags.StringVar(&o.authority, "ca", "", "keep the certificate authority and its key in `FILE`, which is created if it does not exist")
	a.jsonFlag(c)
	c.Flags().Lookup("json").Usage = "print one JSON object on each line, for scripts"
	return c
}

func runWebhooksListen(ctx context.Context, a *app, o listenOptions) error {
	l, err := listen(ctx, "--addr", o.addr, listener.Limits{Connections: listener.DefaultConnections})
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // closed by the server, unless that could not be made
	if o.authority != "" {
		authority, err := receiver.OpenAuthority(o.authority, time.Now())
		if err != nil {
			return fmt.Errorf("--ca: %w", err)
		}
		return receiveWebhooks(ctx, a, l, authority, o)
	}
	authority, err := receiver.TemporaryAuthority(time.Now())
	if err != nil {
		return err
	}
	return errors.Join(receiveWebhooks(ctx, a, l, authority, o), os.Remove(authority.Path))
}

// receiveWebhooks receives webhooks until ctx ends.
func receiveWebhooks(ctx context.Context, a *app, l *listener.Listener, authority *receiver.Authority, o listenOptions) error {
	certificate, err := authority.Issue(receiver.HostNames(o.addr, l.Addr()), time.Now())
	if err != nil {
		return err
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	if err := printListening(a, urlOf(l, secure), authority.Path); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return listener.Serve(ctx, l, secure, receiver.New(o.secret, o.forwardTo, a.showWebhook), log)
}

// printListening prints the address at which webhooks are received, and the certificate
// authority to trust.
func printListening(a *app, url, authority string) error {
	message := "listening on " + url
	if !a.json {
		_, err := fmt.Fprintf(a.stdout, "%s\ntrust %s\n", message, authority)
		return err
	}
	a.note("%s", message)
	return a.printLine(struct {
		Message string `json:"message"`
		URL     string `json:"url"`
		CAFile  string `json:"ca_file"`
	}{message, url, authority})
}

// showWebhook prints a webhook. The error of a failed write is reported at the
// end; see checked.
func (a *app) showWebhook(one receiver.Webhook) {
	switch {
	case a.json:
		_ = a.printLine(one)
	case one.ForwardedTo != nil:
		_, _ = fmt.Fprintln(a.stdout, oneLine(forwardedLine(one)))
	default:
		_, _ = fmt.Fprint(a.stdout, webhookText(one))
	}
}

// forwardedLine describes in one line where a webhook was sent and the response.
func forwardedLine(one receiver.Webhook) string {
	line := fmt.Sprintf("%s %s %s event %s delivery %s", one.ReceivedAt, one.Type, verdictOf(one), one.EventID, one.DeliveryID)
	if one.Seen > 1 {
		line += fmt.Sprintf(" (seen %d times)", one.Seen)
	}
	if one.Problem != nil {
		return fmt.Sprintf("%s: %s %s; answered %d", line, *one.ForwardedTo, *one.Problem, one.Status)
	}
	return fmt.Sprintf("%s: %s answered %d in %s", line, *one.ForwardedTo, one.Status, one.Duration.Round(time.Millisecond))
}

// webhookText describes a webhook in several lines.
func webhookText(one receiver.Webhook) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s %s\n", one.ReceivedAt, oneLine(one.Type), verdictOf(one))
	seen := ""
	if one.Seen > 1 {
		seen = fmt.Sprintf(" (seen %d times)", one.Seen)
	}
	fmt.Fprintf(&text, "  event     %s%s\n  delivery  %s\n  answered  %d\n", oneLine(one.EventID), seen, oneLine(one.DeliveryID), one.Status)
	var body bytes.Buffer
	_ = json.Indent(&body, one.Body, "", "  ") // the receiver ensures that it is JSON
	for line := range strings.Lines(body.String()) {
		inner := strings.TrimLeft(line, " ")
		text.WriteString("  " + line[:len(line)-len(inner)] + oneLine(inner) + "\n")
	}
	return text.String()
}

// verdictOf describes the result of the verification.
func verdictOf(one receiver.Webhook) string {
	if one.Signature == receiver.BadSignature {
		return "BAD SIGNATURE: " + *one.Problem
	}
	return one.Signature
}

// parseForwardTarget parses an http or https URL.
func parseForwardTarget(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Contains(text, "#") {
		return "", fmt.Errorf("%q is not a URL like http://localhost:3000/hook", text)
	}
	return text, nil
}
