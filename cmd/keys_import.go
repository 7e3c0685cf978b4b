package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newKeysImportCommand(a *app) *cobra.Command {
	var draft db.KeyDraft
	c := &cobra.Command{
		Use:   "import --name NAME --scope SCOPE[,SCOPE...]",
		Short: "Store a key that was minted elsewhere, read from stdin",
		Long: `Read one plaintext key from standard input and store its hash. The key was
minted elsewhere and continues to work. It starts with gov_live_ or gov_test_,
which makes it a live or a test key, and has at least 24 more characters. It is
read from stdin so that no shell history and no list of processes shows it. The
scopes are those of "govsvc keys mint".`,
		Example: `  govsvc keys import --name "legacy reports" --scope read:all < key.txt
  pass show govsvc/legacy | govsvc keys import --name legacy --scope read:risks,write:risks`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			plain, err := keySecret.read(interruptibleReader(c.Context(), a.stdin))
			if err != nil {
				return err
			}
			return a.withOrg(c.Context(), mayCreate, func(store *db.DB, org db.Organisation) error {
				return runKeysImport(c.Context(), a, store, org, draft, plain)
			})
		},
	}
	keyDraftFlags(c, &draft)
	return c
}

func runKeysImport(ctx context.Context, a *app, store *db.DB, org db.Organisation, draft db.KeyDraft, plain string) error {
	key, err := store.Keys.Import(ctx, a.actor(org.Org), draft, plain)
	if err != nil {
		return err
	}
	return printKey(a, "imported", newKeyView(key, store.Now()))
}
