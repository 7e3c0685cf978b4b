package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db"
)

func newOrgsListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the organisations of the file, by name",
		Long:    "List the organisations of the file, by name, with plan and subscription.",
		Example: "  govsvc orgs list --json",
		Args:    arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withStore(c.Context(), mustExist, func(store *db.DB) error {
				all, err := store.Orgs.List(c.Context())
				if err != nil {
					return err
				}
				return a.print(all, organisationsTable(all...))
			})
		},
	}
}
