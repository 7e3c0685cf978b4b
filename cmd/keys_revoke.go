package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db"
)

func newKeysRevokeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "revoke ID|PREFIX",
		SuggestFor: []string{"delete", "remove", "rm"},
		Short:      "End a key at once",
		Long: `End a key at once, a running server included. The key is named by its id or
its displayed prefix, as "govsvc keys list" shows them. Revoking a key that is
revoked changes nothing.`,
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
