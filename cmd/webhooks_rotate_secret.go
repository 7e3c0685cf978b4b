package cmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
)

// rotatedSecret is the result of a rotation, which is shown once.
type rotatedSecret struct {
	ID          string  `json:"id"`
	Secret      string  `json:"secret"`
	FormerUntil *string `json:"former_until"` // null if the former secret has ended
}

func newWebhooksRotateSecretCommand(a *app) *cobra.Command {
	overlap := 24 * time.Hour
	c := &cobra.Command{
		Use:        "rotate-secret ID",
		SuggestFor: []string{"rotate", "secret"},
		Short:      "Give a subscription a new signing secret and print it, once",
		Long: `Give a subscription a new signing secret and print it. Stdout has the secret
alone, and stderr its details. It can't be shown again.

Until the overlap ends, deliveries are signed with both secrets, the new one
first, so a receiver with either secret accepts them. A secret of an earlier
rotation ends immediately. A running server uses the new secret from the next
delivery on.

--json prints an object: id, secret and former_until (null without an overlap).`,
		Example: `  SECRET=$(govsvc webhooks rotate-secret 01923f5e-7a10-7cc3-98c4-dc0c0c07398f)
  govsvc webhooks rotate-secret 01923f5e-7a10-7cc3-98c4-dc0c0c07398f --overlap 0s --json`,
		Args: arguments("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withOrg(c.Context(), mustExist, func(store *db.DB, org db.Organisation) error {
				return runWebhooksRotateSecret(c.Context(), a, store, org, args[0], overlap)
			})
		},
	}
	c.Flags().Var(durationValue{&overlap, 0}, "overlap", "how long deliveries are also signed with the old secret, like 24h, 90m or 0s")
	return c
}

func runWebhooksRotateSecret(ctx context.Context, a *app, store *db.DB, org db.Organisation, id string, overlap time.Duration) error {
	rotated := rotatedSecret{ID: id}
	ends := "the former secret has ended"
	err := store.Write(ctx, a.actor(org.Org), func(tx *db.Tx) error {
		secret, until, err := tx.RotateSecret(id, overlap)
		rotated.Secret = secret
		if overlap > 0 {
			at := db.Timestamp(until)
			rotated.FormerUntil, ends = &at, "the former secret is also valid until "+at
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
		a.note("The secret is shown only once.")
		return nil
	})
}
