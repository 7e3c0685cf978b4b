package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/auth"
)

func newUsersSetCommand(a *app) *cobra.Command {
	var role auth.Role
	c := &cobra.Command{
		Use:        "set NAME --role ROLE",
		SuggestFor: []string{"update", "edit", "change", "role"},
		Short:      "Change a user's role in an organisation",
		Long: `Change a user's role in an organisation. It applies from the user's next request
on. Unlike the dashboard, the command also changes the role of the last admin.`,
		Example: `  govsvc users set ada --role editor
  govsvc users set ada --role auditor --org acme`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withMember(c.Context(), args[0], func(people *auth.Service, org db.Organisation, user auth.User) error {
				user, err := people.Memberships.SetRole(c.Context(), a.actor(org.Org), user.ID, role)
				if err != nil {
					return err
				}
				return printMember(c.Context(), a, people, user)
			})
		},
	}
	roleFlag(c, &role, "what the user may do from now on: admin, editor, auditor or viewer (required)")
	return c
}
