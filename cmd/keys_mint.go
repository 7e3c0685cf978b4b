package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db"
)

func newKeysMintCommand(a *app) *cobra.Command {
	var draft db.KeyDraft
	var test bool
	c := &cobra.Command{
		Use:        "mint --name NAME --scope SCOPE[,SCOPE...]",
		SuggestFor: []string{"create", "new", "add"},
		Short:      "Mint a new key and print it, once",
		Long: `Mint a new key and print it. Stdout has the key alone, and stderr its details.
The key can't be shown again: only its hash is stored.

` + scopesText + `

manage:webhooks alone lets a key receive the records that events carry, such as
risks, scorecards and roadmaps, even without a read scope.

--json prints an object: id, key, prefix, name, kind (live or test), scopes,
created_at and expires_at (null: never).`,
		Example: `  KEY=$(govsvc keys mint --name reports --scope read:all)
  govsvc keys mint --name importer --scope read:kpis,write:kpis --expires 2027-03-31
  govsvc keys mint --name try --scope read:all --scope write:risks --test --json`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			draft.Kind = db.LiveKey
			if test {
				draft.Kind = db.TestKey
			}
			return a.withOrg(c.Context(), mayCreate, func(store *db.DB, org db.Organisation) error {
				key, plain, err := store.Keys.Mint(c.Context(), a.actor(org.Org), draft)
				return printMintedKey(a, key, plain, err)
			})
		},
	}
	keyDraftFlags(c, &draft)
	c.Flags().BoolVar(&test, "test", false, "a test key, which works on synthetic data only")
	return c
}
