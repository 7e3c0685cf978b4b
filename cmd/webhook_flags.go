package cmd

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/check"
	"govsvc/db/delivery"
	"govsvc/server/webhook"
)

// webhookFlags are the flags about the delivery of webhooks.
type webhookFlags struct {
	allow networkList
	roots []string // files
	waits waitList
	rate  *int           // deliveries a second to one receiving host; nil and 0 are no limit
	keep  *time.Duration // how long the log of a delivered webhook is kept
}

func newWebhookFlags() webhookFlags {
	keep, rate := delivery.LogRetention, webhookRate
	return webhookFlags{waits: waitList{webhook.DefaultSchedule}, rate: &rate, keep: &keep}
}

// webhookRate is the default of --webhook-rate.
const webhookRate = 100

// webhookHelp is the part of the help of serve and deliver about webhooks.
const webhookHelp = `An event is sent immediately to each matching webhook subscription, and again
after each wait of --webhook-schedule until the receiver returns a 2xx status.
There is one attempt more than there are waits: ten by default. After the last
attempt the delivery is a dead letter; see "govsvc deadletters". Receivers need
a public address and a certificate of a known authority, unless --webhook-allow
and --webhook-ca allow your own.

A process sends at most --webhook-rate deliveries a second to one receiving
host. The name in the URL and each address that it resolves to are hosts. A
subscription has at most 10,000 queued deliveries. The oldest beyond that become
dead letters.`

// add defines the flags on a command.
func (r *webhookFlags) add(c *cobra.Command) {
	c.Flags().Var(&r.allow, "webhook-allow", "network that webhooks may reach although it is not public, including names that resolve into it; repeatable, or separated by commas")
	r.addRoots(c)
	c.Flags().Var(&r.waits, "webhook-schedule", "waits between the attempts of a delivery, like 5s,10m,2h, each with up to 20% random jitter; there is one attempt more than waits")
	c.Flags().Var(countValue{&r.rate, 0}, "webhook-rate", "deliveries a second to one receiving host; 0 is no limit")
	c.Flags().Var(durationValue{r.keep, 0}, "delivered-logs-keep", "how long the log of a delivered webhook is kept; dead letters are kept until they are replayed or discarded")
}

func (r *webhookFlags) addRoots(c *cobra.Command) {
	c.Flags().Var(listValue{&r.roots, nil, "FILE"}, "webhook-ca", "PEM file of a certificate authority to trust for receivers, in addition to the system's; repeatable, or separated by commas")
}

// sender makes the HTTP client for receivers.
func (r *webhookFlags) sender() (*webhook.Sender, error) {
	roots, err := readRoots("--webhook-ca", r.roots)
	if err != nil {
		return nil, err
	}
	config := webhook.SenderConfig{Version: programVersion().Version, Allow: r.allow, Roots: roots}
	if r.rate != nil {
		config.Rate = *r.rate
	}
	return webhook.NewSender(config)
}

// readRoots reads the certificates of authorities, in PEM, from the files that a
// flag names.
func readRoots(flag string, files []string) ([]byte, error) {
	var roots bytes.Buffer
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s has no certificate in PEM", flag, path)
		}
		roots.Write(append(text, '\n'))
	}
	return roots.Bytes(), nil
}

// deliverer makes the delivery loop of a data file.
func (r *webhookFlags) deliverer(store *db.DB, sender *webhook.Sender, logger *slog.Logger) *webhook.Deliverer {
	return webhook.NewDeliverer(webhook.Config{Store: store, Sender: sender, Logger: logger, Schedule: r.waits.values, KeepLogs: r.keep})
}

// waitList are lengths of time, separated by commas. Set replaces the list.
type waitList struct{ values []time.Duration }

// maxWebhookWait bounds a wait between two attempts.
const maxWebhookWait = 365 * 24 * time.Hour

// Type returns the name of the value in the help.
func (v *waitList) Type() string { return "DURATION,..." }

func (v *waitList) String() string {
	texts := make([]string, len(v.values))
	for i := range v.values {
		texts[i] = check.FormatDuration(v.values[i])
	}
	return strings.Join(texts, ",")
}

// Set parses the waits.
func (v *waitList) Set(text string) error {
	var values []time.Duration
	for one := range strings.SplitSeq(text, ",") {
		wait, err := time.ParseDuration(strings.TrimSpace(one))
		if err != nil || wait < 0 || wait > maxWebhookWait {
			return fmt.Errorf("%q is not a length of time like 5s, 30m or 24h, up to 8760h; separate the waits by commas", one)
		}
		values = append(values, wait)
	}
	v.values = values
	return nil
}
