package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/auth"
)

func newUsersRemoveCommand(a *app) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:        "remove NAME",
		SuggestFor: []string{"delete", "rm"},
		Short:      "Remove a user from an organisation",
		Long: `Remove a user from an organisation. With the last membership, or with
--all-orgs, the account is removed and its sessions end. The user's actions
remain in the audit log under the user's id. Unlike the dashboard, the command
also removes the last admin.`,
		Example: `  govsvc users remove bob
  govsvc users remove bob --org acme
  govsvc users remove bob --all-orgs`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			if all {
				return a.withUser(c.Context(), args[0], func(people *auth.Service, user auth.User) error {
					if err := people.Users.Remove(c.Context(), a.actor(0), user.ID); err != nil {
						return err
					}
					return printRemoved(c.Context(), a, people, user, "")
				})
			}
			return a.withMember(c.Context(), args[0], func(people *auth.Service, org db.Organisation, user auth.User) error {
				if err := people.Memberships.Remove(c.Context(), a.actor(org.Org), user.ID); err != nil {
					return err
				}
				return printRemoved(c.Context(), a, people, user, org.Name)
			})
		},
	}
	c.Flags().BoolVar(&all, "all-orgs", false, "remove the account and all its memberships")
	return c
}

// printRemoved shows a user after its removal from an organisation, or from all of
// them for "".
func printRemoved(ctx context.Context, a *app, people *auth.Service, user auth.User, org string) error {
	members, err := people.Users.WithMemberships(ctx, user)
	if err != nil {
		return err
	}
	from := ""
	if org != "" && len(members[0].Organisations) > 0 {
		from = " from " + oneLine(org)
	}
	return a.print(members[0], func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "removed %s%s (%s)\n", oneLine(user.Name), from, user.ID)
		return err
	})
}
