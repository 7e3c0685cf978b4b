package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db"
)

func newOrgsRenameCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "rename OLD NEW",
		SuggestFor: []string{"mv", "move"},
		Short:      "Give an organisation another name",
		Long: `Give an organisation another name, with 1 to 200 characters. Its records, keys,
audit log and id do not change. After "default" was renamed, commands need --org
or GOVSVC_ORG with the new name.`,
		Example: "  govsvc orgs rename default acme",
		Args:    arguments("OLD", "NEW"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withStore(c.Context(), mustExist, func(store *db.DB) error {
				org, err := store.Orgs.Rename(c.Context(), a.actor(0), args[0], args[1])
				if err != nil {
					return invalidAsUsageError(c, err)
				}
				return a.print(org, organisationsTable(org))
			})
		},
	}
}
