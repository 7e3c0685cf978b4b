package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"govsvc/db"
	"govsvc/db/auth"
)

func newUsersCommand(a *app) *cobra.Command {
	users := &cobra.Command{
		Use:   "users",
		Short: "Add, list, change and remove users of the dashboard",
		Long: `Add, list, change and remove users of the dashboard. A user has one name and one
password in the data file, and a role in each organisation of which it is a
member:

  admin    does everything
  editor   reads and changes records, but not keys, users or settings
  auditor  reads everything, including the audit log and evidence, and changes
           nothing
  viewer   reads records

A password has 12 to 200 characters. At a terminal the command prompts for it
twice and does not show it. Otherwise it is the one line on standard input, so
that no shell history and no list of processes shows it. Only a hash of it is
stored.

Users turn on a second factor in the dashboard.`,
	}
	changing := []*cobra.Command{
		newUsersAddCommand(a), newUsersSetCommand(a), newUsersPasswdCommand(a), newUsersResetSecondFactorCommand(a), newUsersRemoveCommand(a),
	}
	a.reasonFlag(changing...)
	list := newUsersListCommand(a)
	users.AddCommand(list)
	users.AddCommand(changing...)
	for _, c := range append(changing, list) {
		if name := c.Name(); name != "passwd" && name != "reset-second-factor" { // these two change the account, not a membership
			a.orgFlag(c)
		}
	}
	a.jsonFlag(users.Commands()...)
	return users
}

// withUser runs a command on a user of the data file.
func (a *app) withUser(ctx context.Context, name string, run func(*auth.Service, auth.User) error) error {
	return a.withStore(ctx, mustExist, func(store *db.DB) error {
		people := auth.New(store)
		user, err := people.Users.ByName(ctx, 0, name)
		if err != nil {
			return err
		}
		return run(people, user)
	})
}

// withMember runs a command on a member of the organisation.
func (a *app) withMember(ctx context.Context, name string, run func(*auth.Service, db.Organisation, auth.User) error) error {
	return a.withOrg(ctx, mustExist, func(store *db.DB, org db.Organisation) error {
		people := auth.New(store)
		user, err := people.Users.ByName(ctx, org.Org, name)
		if err != nil {
			return err
		}
		if user.Role == "" {
			return fmt.Errorf("%q is not a member of %q; `govsvc users list --all-orgs` shows the members of each organisation", user.Name, org.Name)
		}
		return run(people, org, user)
	})
}

// printMember shows a user with its memberships.
func printMember(ctx context.Context, a *app, people *auth.Service, user auth.User) error {
	members, err := people.Users.WithMemberships(ctx, user)
	if err != nil {
		return err
	}
	return a.print(members[0], usersTable(members...))
}

// printUser shows a user as it is after a change, if that was made.
func printUser(ctx context.Context, a *app, people *auth.Service, user auth.User, text string, err error) error {
	if err != nil {
		return err
	}
	if user, err = people.Users.ByName(ctx, 0, user.Name); err != nil {
		return err
	}
	members, err := people.Users.WithMemberships(ctx, user)
	if err != nil {
		return err
	}
	return a.print(members[0], func(w io.Writer) error {
		_, err := fmt.Fprintf(w, text+"\n", oneLine(user.Name))
		return err
	})
}

// passwordError returns an error of a password unchanged, because the password is not
// part of the command line. Other errors become errors of the command line.
func passwordError(c *cobra.Command, err error) error {
	var refused *db.Error
	if errors.As(err, &refused) && refused.Param == "password" {
		return err
	}
	return invalidAsUsageError(c, err)
}

func roleFlag(c *cobra.Command, role *auth.Role, usage string) {
	c.Flags().Var(choiceValue[auth.Role]{role, auth.Roles(), "ROLE"}, "role", usage)
	markRequired(c, "role")
}

// usersTable shows users as text.
func usersTable(list ...auth.Member) func(io.Writer) error {
	header := []string{"NAME", "ROLE", "SECOND FACTOR", "CREATED", "LAST SIGN-IN", "ORGANISATIONS", "ID"}
	return tableOf(header, list, func(u auth.Member) []string {
		factor := "off"
		if u.SecondFactor {
			factor = "on"
		}
		organisations := make([]string, len(u.Organisations))
		for j, m := range u.Organisations {
			organisations[j] = m.Organisation + ": " + string(m.Role)
		}
		return []string{u.Name, cmp.Or(string(u.Role), "-"), factor, u.CreatedAt, orDash(u.LastSignInAt), strings.Join(organisations, ", "), u.ID}
	})
}

// newPassword asks for a user's password at a terminal, or else reads it from
// standard input, where it stands alone.
func newPassword(ctx context.Context, a *app, name string) (string, error) {
	file, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) { //nolint:gosec // a descriptor fits an int
		return passwordSecret.read(interruptibleReader(ctx, a.stdin))
	}
	first, err := promptPassword(ctx, a, file, fmt.Sprintf("Password for %s: ", oneLine(name)))
	if err != nil {
		return "", err
	}
	second, err := promptPassword(ctx, a, file, "The same again: ")
	if err == nil && first != second {
		err = errors.New("the two passwords differ; run the command again")
	}
	return first, err
}
