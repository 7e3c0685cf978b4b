package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
		Short: "Watch webhook subscriptions, rotate their secrets, and try receivers",
		Long: `Watch webhook subscriptions and rotate their secrets; receive webhooks on this
machine (listen) and send samples of them (trigger), to write a receiver without
a service at hand. Subscriptions are made, changed and deleted through the API
or in the dashboard.`,
	}
	list, rotate := newWebhooksListCommand(a), newWebhooksRotateSecretCommand(a)
	listen, trigger := newWebhooksListenCommand(a), newWebhooksTriggerCommand(a)
	webhooks.AddCommand(list, rotate, listen, trigger)
	a.orgFlag(list, rotate)
	a.jsonFlag(list, rotate)
	return webhooks
}

func newWebhooksListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List an organisation's webhook subscriptions and how they fare",
		Long: `List an organisation's webhook subscriptions, oldest first. QUEUED counts the
deliveries that wait for their next attempt, DEAD the dead letters. LAST is what
came of the last attempt: the receiver's status, or why there was none.

With --json an array of objects: id, url, description, event_types (empty: all),
active, created_via (api or dashboard), created_at, updated_at, queued,
dead_letters, and last_attempt_at, last_status and last_error, which may be
null. Secrets are never listed.`,
		Example: `  govsvc webhooks list
  govsvc webhooks list --json | jq '.[] | select(.dead_letters > 0)'`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				return runWebhooksList(c.Context(), a, store, org)
			})
		},
	}
}

func runWebhooksList(ctx context.Context, a *app, store *db.DB, org db.Organisation) error {
	subscriptions, rows := []db.SubscriptionHealth{}, [][]string{}
	err := store.SubscriptionsHealth(ctx, org.Org, func(h db.SubscriptionHealth) error {
		var types []string
		if err := json.Unmarshal(h.EventTypes, &types); err != nil {
			return err
		}
		state, last := "active", lastOutcome(h.LastStatus, h.LastError)
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

// rotatedSecret is what a rotation shows, and shows once.
type rotatedSecret struct {
	ID          string  `json:"id"`
	Secret      string  `json:"secret"`
	FormerUntil *string `json:"former_until"` // null where the former one has ended
}

func newWebhooksRotateSecretCommand(a *app) *cobra.Command {
	overlap := 24 * time.Hour
	c := &cobra.Command{
		Use:        "rotate-secret ID",
		SuggestFor: []string{"rotate", "secret"},
		Short:      "Give a subscription a new signing secret and print it, once",
		Long: `Give a subscription a new signing secret and print it. Stdout holds the secret
alone; what else there is to know goes to stderr. It can't be shown again.

Until the overlap ends deliveries are signed with both secrets, the new one
first, so that a receiver that knows either accepts them. A secret that was
rotated out before ends at once. A running server signs with the new one from
the next delivery on.

With --json an object: id, secret and former_until (null without an overlap).`,
		Example: `  SECRET=$(govsvc webhooks rotate-secret 01923f5e-7a10-7cc3-98c4-dc0c0c07398f)
  govsvc webhooks rotate-secret 01923f5e-7a10-7cc3-98c4-dc0c0c07398f --overlap 0s --json`,
		Args: arguments("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				return runWebhooksRotateSecret(c.Context(), a, store, org, args[0], overlap)
			})
		},
	}
	c.Flags().Var(span{&overlap}, "overlap", "how long the old secret still signs beside the new one, like 24h, 90m or 0s")
	return c
}

func runWebhooksRotateSecret(ctx context.Context, a *app, store *db.DB, org db.Organisation, id string, overlap time.Duration) error {
	rotated := rotatedSecret{ID: id}
	ends := "the former secret has ended"
	err := store.Write(ctx, a.by(org.Org), func(tx *db.Tx) error {
		secret, until, err := tx.RotateSecret(id, overlap)
		rotated.Secret = secret
		if overlap > 0 {
			at := db.Timestamp(until)
			rotated.FormerUntil, ends = &at, "the former secret signs, too, until "+at
		}
		return err
	})
	if db.Is(err, db.NotFound) {
		return fmt.Errorf("no webhook subscription %q in this organisation; `govsvc webhooks list` shows them", id)
	}
	if err != nil {
		return err
	}
	return a.print(rotated, func(w io.Writer) error {
		if _, err := fmt.Fprintln(w, rotated.Secret); err != nil {
			return err
		}
		a.note("new signing secret of subscription %s; %s", id, ends)
		a.note("The secret is shown this once.")
		return nil
	})
}

// signingSecret is a webhook's secret. What is wrong with one is told without
// showing it.
type signingSecret struct{ value *string }

func (v signingSecret) Type() string   { return "SECRET" }
func (v signingSecret) String() string { return *v.value }

func (v signingSecret) Set(text string) error {
	if !strings.HasPrefix(text, "whsec_") {
		return errors.New("a signing secret is whsec_ and base64; give it as it was shown")
	}
	if _, err := webhook.Sign([]string{text}, db.Message{}, time.Time{}); err != nil {
		return err
	}
	*v.value = text
	return nil
}
