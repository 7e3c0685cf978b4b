package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/auth"
)

func newUsersListCommand(a *app) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the users of an organisation, by name",
		Long: `List the users of an organisation, by name, with their roles in it. --all-orgs
lists all users of the data file. "role" is the role in the organisation that
--org names. It is empty if the user is not a member of it.

With --json each user also has its memberships (organisations: organisation and
role), the number of remaining recovery codes (recovery_codes) and the time of
the last change.`,
		Example: `  govsvc users list --org acme
  govsvc users list --all-orgs --json`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOrg(c.Context(), mustExist, func(store *db.DB, org db.Organisation) error {
				people := auth.New(store)
				list := people.Users.List
				if all {
					list = people.Users.ListAll
				}
				users, err := list(c.Context(), org.Org)
				if err != nil {
					return err
				}
				members, err := people.Users.WithMemberships(c.Context(), users...)
				if err != nil {
					return err
				}
				return a.print(members, usersTable(members...))
			})
		},
	}
	c.Flags().BoolVar(&all, "all-orgs", false, "list the users of all organisations")
	return c
}
