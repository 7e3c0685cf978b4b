package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newKeysRotateCommand(a *app) *cobra.Command {
	overlap := 24 * time.Hour
	c := &cobra.Command{
		Use:   "rotate ID|PREFIX",
		Short: "Mint a key's successor and let the old one expire",
		Long: `Mint a successor with the same name, kind, scopes and limits. The old key
expires after the overlap, unless it expires sooner anyway. The successor does
not expire. It is printed once, as by "govsvc keys mint": stdout has the new key
alone.`,
		Example: `  KEY=$(govsvc keys rotate gds_live_4fQ9sLx0aZ2b --overlap 72h)
  govsvc keys rotate 01923f5e-7a10-7cc3-98c4-dc0c0c07398f --overlap 0s --json`,
		Args: arguments("ID|PREFIX"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withOrg(c.Context(), mustExist, func(store *db.DB, org db.Organisation) error {
				return runKeysRotate(c.Context(), a, store, org, args[0], overlap)
			})
		},
	}
	c.Flags().Var(durationValue{&overlap, 0}, "overlap", "how long the old key still works, like 24h, 90m or 0s")
	return c
}

func runKeysRotate(ctx context.Context, a *app, store *db.DB, org db.Organisation, old string, overlap time.Duration) error {
	key, plain, err := store.Keys.Rotate(ctx, a.actor(org.Org), old, overlap)
	return printMintedKey(a, key, plain, err)
}
