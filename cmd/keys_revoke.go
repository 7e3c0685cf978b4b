package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db"
)

func newKeysRevokeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "revoke ID|PREFIX",
		SuggestFor: []string{"delete", "remove", "rm"},
		Short:      "Revoke a key immediately",
		Long: `Revoke a key immediately, also for a running server. Name the key by its id or
its prefix, as "govsvc keys list" shows them. Revoking a revoked key changes
nothing.`,
		Example: `  govsvc keys revoke 01923f5e-7a10-7cc3-98c4-dc0c0c07398f
  govsvc keys revoke gds_live_4fQ9sLx0aZ2b`,
		Args: arguments("ID|PREFIX"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withOrg(c.Context(), mustExist, func(store *db.DB, org db.Organisation) error {
				key, err := store.Keys.Revoke(c.Context(), a.actor(org.Org), args[0])
				if err != nil {
					return err
				}
				return printKey(a, "revoked", newKeyView(key, store.Now()))
			})
		},
	}
}
