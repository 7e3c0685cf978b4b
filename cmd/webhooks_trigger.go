package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/server/webhook"
)

// triggerOptions are the flags of webhooks trigger.
type triggerOptions struct {
	url, secret string
	receivers   webhookFlags
}

func newWebhooksTriggerCommand(a *app) *cobra.Command {
	o := triggerOptions{receivers: webhookFlags{allow: webhook.Loopback}}
	c := &cobra.Command{
		Use:        "trigger TYPE --url URL --secret SECRET",
		SuggestFor: []string{"send", "sample", "test", "ping"},
		Short:      "Send a signed sample of an event to a receiver, once",
		Long: `Send a signed sample of an event to a receiver, once, as the service delivers
events: over https, within 15 seconds, without following redirects, and only to
public addresses and to this machine (loopback). It needs no data file. Every
2xx status is a delivery. Otherwise the exit status is 1.

The types:
` + wrapText(strings.Join(db.EventTypes(), ", ")+".") + `

--json prints an object, also if it was not delivered: event_id, delivery_id,
type, url, outcome (delivered, rejected, unreachable or blocked), delivered,
response_status_code and error (either may be null), duration_ms, and answer
(the first 1 KB of the response).`,
		Example: `  govsvc webhooks trigger risk.created --url https://hooks.example.com/in --secret "$SECRET"
  govsvc webhooks trigger ping --url https://localhost:9443/ --secret "$SECRET" --webhook-ca ca.pem`,
		Args: func(c *cobra.Command, args []string) error {
			if err := arguments("TYPE")(c, args); err != nil {
				return err
			}
			return checkEventType(c, args[0])
		},
		RunE: func(c *cobra.Command, args []string) error { return runWebhooksTrigger(c.Context(), a, args[0], o) },
	}
	c.Flags().Var(textValue{&o.url, "URL", parseReceiverURL}, "url", "the receiver's https URL (required)")
	c.Flags().Var(textValue{&o.secret, "SECRET", parseSecret}, "secret", "sign with this secret: whsec_ and base64 (required)")
	o.receivers.addRoots(c)
	a.jsonFlag(c)
	markRequired(c, "url", "secret")
	return c
}

// checkEventType refuses an unknown type of event.
func checkEventType(c *cobra.Command, kind string) error {
	if known := db.EventTypes(); !slices.Contains(known, kind) {
		return usageErrorf("no event has the type %q; the types are %s%s", kind, strings.Join(known, ", "), helpHint(c))
	}
	return nil
}

// triggerResult is the result of sending a sample.
type triggerResult struct {
	EventID    string  `json:"event_id"`
	DeliveryID string  `json:"delivery_id"`
	Type       string  `json:"type"`
	URL        string  `json:"url"`
	Outcome    string  `json:"outcome"`
	Delivered  bool    `json:"delivered"`
	Status     *int    `json:"response_status_code"`
	Error      *string `json:"error"`
	Duration   int64   `json:"duration_ms"`
	Answer     string  `json:"answer"`
}

func runWebhooksTrigger(ctx context.Context, a *app, kind string, o triggerOptions) error {
	sender, err := o.receivers.sender()
	if err != nil {
		return err
	}
	defer sender.Close()
	document, err := loadDocument()
	if err != nil {
		return err
	}
	types := document.EventTypes()
	sample := types[slices.IndexFunc(types, func(t openapi.EventType) bool { return t.Name == kind })].Sample
	message := db.NewMessage(db.NewID(), kind, time.Now(), sample)
	deliveryID := db.NewID()
	attempt := sender.Send(ctx, delivery.Receiver{URL: o.url, Secrets: []string{o.secret}, Active: true}, deliveryID, message)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	result := triggerResult{
		EventID: message.ID, DeliveryID: deliveryID, Type: kind, URL: o.url,
		Outcome: api.Outcome(attempt), Delivered: attempt.Delivered(), Duration: attempt.Duration.Milliseconds(),
		Answer: strings.ToValidUTF8(string(attempt.Answer), "\ufffd"),
	}
	if attempt.Status > 0 {
		result.Status = &attempt.Status
	}
	if attempt.Error != "" {
		result.Error = &attempt.Error
	}
	return errors.Join(a.print(result, result.write), deliveryError(attempt))
}

func (t triggerResult) write(w io.Writer) error {
	line := t.Outcome
	if t.Status != nil {
		line = fmt.Sprintf("%s: %d", line, *t.Status)
	}
	_, err := fmt.Fprintf(w, "%s in %d ms (event %s)\n", line, t.Duration, t.EventID)
	if answer := oneLine(t.Answer); answer != "" && err == nil {
		_, err = fmt.Fprintf(w, "answer: %s\n", answer)
	}
	return err
}

// deliveryError says why an attempt failed and what to do; nil if it succeeded.
func deliveryError(attempt delivery.Attempt) error {
	switch {
	case attempt.Delivered():
		return nil
	case attempt.Status > 0:
		return fmt.Errorf("not delivered: the receiver returned status %d instead of 2xx", attempt.Status)
	case attempt.Blocked:
		return fmt.Errorf("not delivered: %s; use a public address or a loopback address", attempt.Error)
	case strings.Contains(attempt.Error, "x509:"):
		return fmt.Errorf("not delivered: %s; name the authority of the receiver's certificate with --webhook-ca", attempt.Error)
	}
	return fmt.Errorf("not delivered: %s; check that the receiver runs and is reachable from here", attempt.Error)
}

// parseReceiverURL checks the form of a receiver's URL. The address is checked when
// it is dialled.
func parseReceiverURL(text string) (string, error) {
	everywhere := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	if err := (webhook.Simulator{Allow: everywhere}).CheckURL(context.Background(), text); err != nil {
		return "", err
	}
	return text, nil
}
