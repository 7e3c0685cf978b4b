package cmd

import (
	"context"
	"encoding/json"
	"io"
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

--json prints an array of objects: id, url, description, event_types (empty: all),
active, created_via (api or dashboard), created_at, updated_at, queued,
dead_letters, and last_attempt_at, last_status and last_error, which may be
null. Secrets are never listed.`,
		Example: `  govsvc webhooks list
  govsvc webhooks list --json | jq '.[] | select(.dead_letters > 0)'`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOrg(c.Context(), mustExist, func(store *db.DB, org db.Organisation) error {
				return runWebhooksList(c.Context(), a, store, org)
			})
		},
	}
}

func runWebhooksList(ctx context.Context, a *app, store *db.DB, org db.Organisation) error {
	subscriptions, rows := []delivery.SubscriptionSummary{}, [][]string{}
	err := delivery.EachSubscription(ctx, store, org.Org, func(h delivery.SubscriptionSummary) error {
		var types []string
		if err := json.Unmarshal(h.EventTypes, &types); err != nil {
			return err
		}
		state, last := "active", attemptResult(h.LastStatus, h.LastError)
		if !h.Active {
			state = "paused"
		}
		if len(types) == 0 {
			types = []string{"all"}
		}
		if h.LastAttemptAt != nil {
			last += " at " + *h.LastAttemptAt
		}
		subscriptions = append(subscriptions, h)
		rows = append(rows, []string{
			h.ID, h.URL, state, strings.Join(types, ","), h.CreatedAt, strconv.Itoa(h.Queued), strconv.Itoa(h.Dead), last,
		})
		return nil
	})
	if err != nil {
		return err
	}
	return a.print(subscriptions, func(w io.Writer) error {
		return table(w, []string{"ID", "URL", "STATE", "EVENTS", "CREATED", "QUEUED", "DEAD", "LAST"}, rows)
	})
}
