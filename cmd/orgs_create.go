package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db"
)

func newOrgsCreateCommand(a *app) *cobra.Command {
	plan := db.Enterprise
	c := &cobra.Command{
		Use:        "create NAME",
		SuggestFor: []string{"add", "new"},
		Short:      "Add an organisation",
		Long: `Add an organisation with an active subscription. A name has 1 to 200 characters
and is unique in the data file. The organisation has no members: "govsvc users
add NAME --role admin --org" adds one.`,
		Example: `  govsvc orgs create acme
  govsvc orgs create acme --plan business --json`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withStore(c.Context(), mayCreate, func(store *db.DB) error {
				made, err := store.Orgs.Create(c.Context(), a.actor(0), args[0], plan)
				if err != nil {
					return invalidAsUsageError(c, err)
				}
				return a.print(made, organisationsTable(made))
			})
		},
	}
	planFlag(c, &plan, "the organisation's plan: starter, professional, business or enterprise")
	return c
}
