package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newUsersCommand(a *app) *cobra.Command {
	users := &cobra.Command{
		Use:   "users",
		Short: "Add, list, change and remove those who may sign in to the dashboard",
		Long: `Add, list, change and remove those who may sign in to the dashboard. A user has
one name and one password in the data file, and a role in each organisation that
it is a member of:

  admin    does everything
  editor   reads and changes records, but no keys, users or settings
  auditor  reads everything, with the audit log and evidence, and changes nothing
  viewer   reads records

A password has 12 to 200 characters. At a terminal it is asked for twice and not
shown; otherwise it is the one line on standard input, so that it is in no shell
history and no list of processes. Only a hash of it is stored.

Users turn on a second factor in the dashboard by themselves.`,
	}
	changing := []*cobra.Command{
		newUsersAddCommand(a), newUsersSetCommand(a), newUsersPasswdCommand(a), newUsersResetSecondFactorCommand(a), newUsersRemoveCommand(a),
	}
	a.reasonFlag(changing...)
	list := newUsersListCommand(a)
	users.AddCommand(list)
	users.AddCommand(changing...)
	for _, c := range append(changing, list) {
		if name := c.Name(); name != "passwd" && name != "reset-second-factor" { // which are about the account
			a.orgFlag(c)
		}
	}
	a.jsonFlag(users.Commands()...)
	return users
}

func newUsersAddCommand(a *app) *cobra.Command {
	var role db.Role
	c := &cobra.Command{
		Use:        "add NAME --role ROLE",
		SuggestFor: []string{"create", "new"},
		Short:      "Add a user to an organisation",
		Long: `Add a user to an organisation. A name has 1 to 200 characters and exists once in
a file, in capitals or small letters. The password is asked for, or read from
stdin: see "govsvc users --help".

A user that exists in another organisation becomes a member of this one, too. It
keeps its password, and none is asked for or read.`,
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
			return a.withOrg(c.Context(), anyFile, func(store *db.DB, org db.Organisation) error {
				made, err := store.CreateUser(c.Context(), a.by(org.Org), args[0], role, password)
				if err != nil {
					return poorPassword(c, err)
				}
				return printMember(c.Context(), a, store, made)
			})
		},
	}
	roleFlag(c, &role, "what the user may do in the organisation: admin, editor, auditor or viewer (required)")
	return c
}

// addMember makes a user of the file a member of the organisation. It reports
// false where no user has the name.
func addMember(ctx context.Context, a *app, name string, role db.Role) (added bool, err error) {
	if _, err := os.Stat(a.path); errors.Is(err, fs.ErrNotExist) {
		return false, nil // CreateUser makes the file
	}
	err = a.withOrg(ctx, aFile, func(store *db.DB, org db.Organisation) error {
		user, err := store.AddMember(ctx, a.by(org.Org), name, role)
		if db.Is(err, db.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		added = true
		return printMember(ctx, a, store, user)
	})
	return added, err
}

func newUsersListCommand(a *app) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the users of an organisation, by name",
		Long: `List the users of an organisation, by name, with their roles in it. --all-orgs
lists all users of the file; "role" is that in the organisation that --org
names, and empty where the user is not a member of it.

With --json each also has its memberships (organisations: organisation and role),
the number of recovery codes that are left (recovery_codes) and when it was
changed.`,
		Example: `  govsvc users list --org acme
  govsvc users list --all-orgs --json`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				list := store.Users
				if all {
					list = store.AllUsers
				}
				users, err := list(c.Context(), org.Org)
				if err != nil {
					return err
				}
				members, err := store.Members(c.Context(), users...)
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

func newUsersSetCommand(a *app) *cobra.Command {
	var role db.Role
	c := &cobra.Command{
		Use:        "set NAME --role ROLE",
		SuggestFor: []string{"update", "edit", "change", "role"},
		Short:      "Change a user's role in an organisation",
		Long: `Change a user's role in an organisation. It counts from the user's next request
on. Unlike the dashboard, the command also changes the role of the last admin.`,
		Example: `  govsvc users set ada --role editor
  govsvc users set ada --role auditor --org acme`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withMember(c.Context(), args[0], func(store *db.DB, org db.Organisation, user db.User) error {
				user, err := store.SetUserRole(c.Context(), a.by(org.Org), user.ID, role)
				if err != nil {
					return err
				}
				return printMember(c.Context(), a, store, user)
			})
		},
	}
	roleFlag(c, &role, "what the user may do from now on: admin, editor, auditor or viewer (required)")
	return c
}

func newUsersPasswdCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "passwd NAME",
		SuggestFor: []string{"password", "reset-password"},
		Short:      "Give a user a new password and end its sessions",
		Long: `Give a user a new password and end its sessions. The password is asked for, or
read from stdin: see "govsvc users --help".`,
		Example: `  govsvc users passwd ada
  pass show govsvc/ada | govsvc users passwd ada`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withUser(c.Context(), args[0], func(store *db.DB, user db.User) error {
				password, err := newPassword(c.Context(), a, user.Name)
				if err == nil {
					err = store.SetPassword(c.Context(), a.by(0), user.ID, password)
				}
				return printUser(c.Context(), a, store, user, "changed the password of %s; its sessions have ended", poorPassword(c, err))
			})
		},
	}
}

func newUsersResetSecondFactorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "reset-second-factor NAME",
		Short: "Turn off the second factor of a user who has lost it",
		Long: `Turn off the second factor of a user who has lost both the device and the
recovery codes. The password alone lets the user in then, until a new one is
turned on. The user's sessions end.`,
		Example: "  govsvc users reset-second-factor ada",
		Args:    arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withUser(c.Context(), args[0], func(store *db.DB, user db.User) error {
				err := store.RemoveSecondFactor(c.Context(), a.by(0), user.ID)
				return printUser(c.Context(), a, store, user, "%s has no second factor now; its sessions have ended", err)
			})
		},
	}
}

func newUsersRemoveCommand(a *app) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:        "remove NAME",
		SuggestFor: []string{"delete", "rm"},
		Short:      "Remove a user from an organisation",
		Long: `Remove a user from an organisation. With the last membership, or with --all-orgs,
the account is removed and its sessions end. What the user did stays in the audit
log, under the user's id. Unlike the dashboard, the command also removes the last
admin.`,
		Example: `  govsvc users remove bob
  govsvc users remove bob --org acme
  govsvc users remove bob --all-orgs`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			if all {
				return a.withUser(c.Context(), args[0], func(store *db.DB, user db.User) error {
					if err := store.RemoveAccount(c.Context(), a.by(0), user.ID); err != nil {
						return err
					}
					return printRemoved(c.Context(), a, store, user, "")
				})
			}
			return a.withMember(c.Context(), args[0], func(store *db.DB, org db.Organisation, user db.User) error {
				if err := store.RemoveUser(c.Context(), a.by(org.Org), user.ID); err != nil {
					return err
				}
				return printRemoved(c.Context(), a, store, user, org.Name)
			})
		},
	}
	c.Flags().BoolVar(&all, "all-orgs", false, "remove the account and all its memberships")
	return c
}

// withUser runs a command on a user of the data file.
func (a *app) withUser(ctx context.Context, name string, run func(*db.DB, db.User) error) error {
	return a.withStore(ctx, aFile, func(store *db.DB) error {
		user, err := store.UserByName(ctx, 0, name)
		if err != nil {
			return err
		}
		return run(store, user)
	})
}

// withMember runs a command on a member of the organisation.
func (a *app) withMember(ctx context.Context, name string, run func(*db.DB, db.Organisation, db.User) error) error {
	return a.withOrg(ctx, aFile, func(store *db.DB, org db.Organisation) error {
		user, err := store.UserByName(ctx, org.Org, name)
		if err != nil {
			return err
		}
		if user.Role == "" {
			return fmt.Errorf("%q is not a member of %q; `govsvc users list --all-orgs` shows the members of each organisation", user.Name, org.Name)
		}
		return run(store, org, user)
	})
}

// printMember shows a user with its memberships.
func printMember(ctx context.Context, a *app, store *db.DB, user db.User) error {
	members, err := store.Members(ctx, user)
	if err != nil {
		return err
	}
	return a.print(members[0], usersTable(members...))
}

// printRemoved shows what remains of a user that was removed from an
// organisation, or from all for "".
func printRemoved(ctx context.Context, a *app, store *db.DB, user db.User, org string) error {
	members, err := store.Members(ctx, user)
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

// printUser shows a user as it is after a change, if that was made.
func printUser(ctx context.Context, a *app, store *db.DB, user db.User, text string, err error) error {
	if err != nil {
		return err
	}
	if user, err = store.UserByName(ctx, 0, user.Name); err != nil {
		return err
	}
	members, err := store.Members(ctx, user)
	if err != nil {
		return err
	}
	return a.print(members[0], func(w io.Writer) error {
		_, err := fmt.Fprintf(w, text+"\n", oneLine(user.Name))
		return err
	})
}

// poorPassword keeps apart what is wrong with the command line from what is
// wrong with a password, which is none of it.
func poorPassword(c *cobra.Command, err error) error {
	var refused *db.Error
	if errors.As(err, &refused) && refused.Param == "password" {
		return err
	}
	return invalidIsMisuse(c, err)
}

func roleFlag(c *cobra.Command, role *db.Role, usage string) {
	c.Flags().Var(choice[db.Role]{role, db.Roles(), "ROLE"}, "role", usage)
	require(c, "role")
}

// usersTable shows users as text.
func usersTable(list ...db.Member) func(io.Writer) error {
	rows := make([][]string, len(list))
	for i, u := range list {
		factor := "off"
		if u.SecondFactor {
			factor = "on"
		}
		organisations := make([]string, len(u.Organisations))
		for j, m := range u.Organisations {
			organisations[j] = m.Organisation + ": " + string(m.Role)
		}
		rows[i] = []string{u.Name, cmp.Or(string(u.Role), "-"), factor, u.CreatedAt, orDash(u.LastSignInAt), strings.Join(organisations, ", "), u.ID}
	}
	return func(w io.Writer) error {
		return table(w, []string{"NAME", "ROLE", "SECOND FACTOR", "CREATED", "LAST SIGN-IN", "ORGANISATIONS", "ID"}, rows)
	}
}
