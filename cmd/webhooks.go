package cmd

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/webhook"
)

func newWebhooksCommand(a *app) *cobra.Command {
	webhooks := &cobra.Command{
		Use:   "webhooks",
		Short: "List webhook subscriptions, rotate their secrets, and test receivers",
		Long: `List webhook subscriptions and rotate their secrets. Receive webhooks on this
machine (listen) and send samples of them (trigger), to develop a receiver
without a running service. The API and the dashboard create, change and delete
subscriptions.`,
	}
	list, rotate := newWebhooksListCommand(a), newWebhooksRotateSecretCommand(a)
	listen, trigger := newWebhooksListenCommand(a), newWebhooksTriggerCommand(a)
	webhooks.AddCommand(list, rotate, listen, trigger)
	a.orgFlag(list, rotate)
	a.jsonFlag(list, rotate)
	return webhooks
}

// parseSecret parses a signing secret. Its errors do not show the secret.
func parseSecret(text string) (string, error) {
	if !strings.HasPrefix(text, "whsec_") {
		return "", errors.New("a signing secret consists of whsec_ and base64 text; copy it unchanged")
	}
	if _, err := webhook.Sign([]string{text}, db.Message{}, time.Time{}); err != nil {
		return "", err
	}
	return text, nil
}

// attemptResult describes the last attempt of a delivery.
func attemptResult(status *int, failure *string) string {
	switch {
	case status != nil:
		return strconv.Itoa(*status)
	case failure != nil && *failure != "":
		return *failure
	}
	return "-"
}
