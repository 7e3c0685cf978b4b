package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db/auth"
)

func newUsersPasswdCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "passwd NAME",
		SuggestFor: []string{"password", "reset-password"},
		Short:      "Set a user's password and end the user's sessions",
		Long: `Set a user's password and end the user's sessions. The command prompts for the
password, or reads it from stdin: see "govsvc users --help".`,
		Example: `  govsvc users passwd ada
  pass show govsvc/ada | govsvc users passwd ada`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withUser(c.Context(), args[0], func(people *auth.Service, user auth.User) error {
				password, err := newPassword(c.Context(), a, user.Name)
				if err == nil {
					err = people.Users.SetPassword(c.Context(), a.actor(0), user.ID, password)
				}
				return printUser(c.Context(), a, people, user, "changed the password of %s; the user's sessions have ended", passwordError(c, err))
			})
		},
	}
}
