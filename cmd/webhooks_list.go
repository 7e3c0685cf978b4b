package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/delivery"
)

func newWebhooksListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List an organisation's webhook subscriptions and their deliveries",
		Long: `List an organisation's webhook subscriptions, oldest first. QUEUED counts the
deliveries that wait for their next attempt, DEAD the dead letters. LAST is the
result of the last attempt: the receiver's status, or the error.

--json prints an array of objects: id, url, description, event_types (empty:
all), active, created_via (api or dashboard), created_at, updated_at, queued,
dead_letters, and last_attempt_at, last_status and last_error, which may be
null. Secrets are never listed.`,
		Example: `  govsvc webhooks list
  govsvc webhooks list --json | jq '.[] | select(.dead_letters > 0)'`,
		Args: arguments(),
		RunE: inOrg(a, runWebhooksList),
	}
}

func runWebhooksList(ctx context.Context, a *app, store *db.DB, org db.Organisation) error {
	subscriptions, eventTypes := []delivery.SubscriptionSummary{}, map[string][]string{}
	err := delivery.EachSubscription(ctx, store, org.Org, func(h delivery.SubscriptionSummary) error {
		subscriptions = append(subscriptions, h)
		var types []string
		err := json.Unmarshal(h.EventTypes, &types)
		eventTypes[h.ID] = types
		return err
	})
	if err != nil {
		return err
	}
	header := []string{"ID", "URL", "STATE", "EVENTS", "CREATED", "QUEUED", "DEAD", "LAST"}
	return a.print(subscriptions, tableOf(header, subscriptions, func(h delivery.SubscriptionSummary) []string {
		state, last := "active", attemptResult(h.LastStatus, h.LastError)
		if !h.Active {
			state = "paused"
		}
		if h.LastAttemptAt != nil {
			last += " at " + *h.LastAttemptAt
		}
		types := cmp.Or(strings.Join(eventTypes[h.ID], ","), "all")
		return []string{h.ID, h.URL, state, types, h.CreatedAt, strconv.Itoa(h.Queued), strconv.Itoa(h.Dead), last}
	}))
}
