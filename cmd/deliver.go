package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/webhook"
)

// deliverOptions are the flags of deliver.
type deliverOptions struct {
	receivers webhookFlags
	log       logFlags
	once      bool
}

func newDeliverCommand(a *app) *cobra.Command {
	o := deliverOptions{receivers: newWebhookFlags(), log: newLogFlags()}
	c := &cobra.Command{
		Use:        "deliver",
		SuggestFor: []string{"send", "webhook", "worker"},
		Short:      "Deliver webhooks, without serving the API",
		Long: `Deliver the queued webhooks of all organisations until SIGTERM or SIGINT. Then
deliveries under way end within 5 seconds and are recorded, and the exit status
is 0. "govsvc serve" also delivers. Several of both can share the work on one
file: give all of them the same webhook flags.

` + webhookHelp + `

At the end it prints how many deliveries succeeded, how many attempts failed and
will be repeated, and how many deliveries became dead letters. With --json it
prints an object: delivered, failed, dead.

With --once it delivers what is due and ends. Deliveries that are due later
remain queued. A receiver that refuses a webhook is not a failure of the
command. The exit status is 1 only if the data file can't be used or a signal
arrived before the end.`,
		Example: `  govsvc deliver --db /var/lib/govsvc/govsvc.db --log-format json
  govsvc deliver --once --json
  govsvc deliver --webhook-allow 10.0.0.0/8 --webhook-ca /etc/ssl/our-ca.pem`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error { return runDeliver(c.Context(), a, o) },
	}
	c.Flags().BoolVar(&o.once, "once", false, "deliver what is due, then end")
	o.receivers.add(c)
	o.log.add(c)
	a.jsonFlag(c)
	return c
}

func runDeliver(ctx context.Context, a *app, o deliverOptions) error {
	sender, err := o.receivers.sender()
	if err != nil {
		return err
	}
	defer sender.Close()
	err = a.withStore(ctx, mustExist, func(store *db.DB) error {
		logger := a.logger(o.log)
		deliverer := o.receivers.deliverer(store, sender, logger)
		if o.once {
			return deliverOnce(ctx, a, deliverer)
		}
		logger.Info("delivering", "db", store.File.Path(), "version", programVersion().Version)
		err := deliverer.Run(ctx)
		return errors.Join(err, printTotals(a, deliverer.Totals()))
	})
	if o.once {
		return err
	}
	return unlessInterrupted(ctx, err)
}

func deliverOnce(ctx context.Context, a *app, deliverer *webhook.Deliverer) error {
	totals, err := deliverer.DeliverDue(ctx)
	switch {
	case ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
		err = errors.New("interrupted; the other deliveries are still queued")
	case err != nil:
		return err
	}
	return errors.Join(printTotals(a, totals), err)
}

func printTotals(a *app, t webhook.Totals) error {
	return a.print(t, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d delivered, %d failed and will be sent again, %s\n", t.Delivered, t.Failed, formatCount(t.Dead, "new dead letter"))
		return err
	})
}
