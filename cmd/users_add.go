package cmd

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/auth"
)

func newUsersAddCommand(a *app) *cobra.Command {
	var role auth.Role
	c := &cobra.Command{
		Use:        "add NAME --role ROLE",
		SuggestFor: []string{"create", "new"},
		Short:      "Add a user to an organisation",
		Long: `Add a user to an organisation. A name has 1 to 200 characters and is unique in
the data file; capitals make no difference. The command prompts for the
password, or reads it from stdin: see "govsvc users --help".

A user of another organisation becomes a member of this one too. The user keeps
the password, and the command neither prompts for one nor reads one.`,
		Example: `  govsvc users add ada --role admin
  govsvc users add ada --role auditor --org acme
  pass show govsvc/bob | govsvc users add "Bob Ross" --role viewer --json`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			added, err := addMember(c.Context(), a, args[0], role)
			if err != nil || added {
				return err
			}
			password, err := newPassword(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			return a.withOrg(c.Context(), mayCreate, func(store *db.DB, org db.Organisation) error {
				people := auth.New(store)
				made, err := people.Users.Create(c.Context(), a.actor(org.Org), args[0], role, password)
				if err != nil {
					return passwordError(c, err)
				}
				return printMember(c.Context(), a, people, made)
			})
		},
	}
	roleFlag(c, &role, "what the user may do in the organisation: admin, editor, auditor or viewer (required)")
	return c
}

// addMember makes a user of the file a member of the organisation. It reports
// false where no user has the name.
func addMember(ctx context.Context, a *app, name string, role auth.Role) (added bool, err error) {
	if _, err := os.Stat(a.path); errors.Is(err, fs.ErrNotExist) {
		return false, nil // adding the user creates the file
	}
	err = a.withOrg(ctx, mustExist, func(store *db.DB, org db.Organisation) error {
		people := auth.New(store)
		user, err := people.Memberships.Add(ctx, a.actor(org.Org), name, role)
		if db.Is(err, db.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		added = true
		return printMember(ctx, a, people, user)
	})
	return added, err
}
