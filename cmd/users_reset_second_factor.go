package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db/auth"
)

func newUsersResetSecondFactorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "reset-second-factor NAME",
		Short: "Turn off a user's lost second factor",
		Long: `Turn off a user's second factor after the loss of both the device and the
recovery codes. The user then signs in with the password alone, and can set up a
new second factor. The user's sessions end.`,
		Example: "  govsvc users reset-second-factor ada",
		Args:    arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withUser(c.Context(), args[0], func(people *auth.Service, user auth.User) error {
				err := people.Users.RemoveSecondFactor(c.Context(), a.actor(0), user.ID)
				return printUser(c.Context(), a, people, user, "%s has no second factor now; the user's sessions have ended", err)
			})
		},
	}
}
