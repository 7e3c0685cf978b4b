package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func (a *app) usersCommand() *cobra.Command {
	users := &cobra.Command{
		Use:   "users",
		Short: "Add, list, change and remove those who may sign in to the dashboard",
		Long: `Add, list, change and remove those who may sign in to the dashboard. They are
users of the whole data file, in all organisations. A user's role is one of

  admin   may do all of it
  editor  sees and changes records, but no keys, users or settings
  viewer  sees

A password has 12 to 200 characters. At a terminal it is asked for twice and not
shown; otherwise it is the one line on standard input, so that it is in no shell
history and no list of processes. Only a hash of it is stored.

Users turn on a second factor in the dashboard by themselves.`,
	}
	changing := []*cobra.Command{
		a.usersAddCommand(), a.usersSetCommand(), a.usersPasswdCommand(), a.usersResetSecondFactorCommand(), a.usersRemoveCommand(),
	}
	a.reasonFlag(changing...)
	users.AddCommand(a.usersListCommand())
	users.AddCommand(changing...)
	a.jsonFlag(users.Commands()...)
	return users
}

func (a *app) usersAddCommand() *cobra.Command {
	var role db.Role
	c := &cobra.Command{
		Use:        "add NAME --role ROLE",
		SuggestFor: []string{"create", "new"},
		Short:      "Add a user",
		Long: `Add a user. A name has 1 to 200 characters and is there once in a file, in
capitals or small letters. The password is asked for, or read from stdin: see
"govsvc users --help".`,
		Example: `  govsvc users add ada --role admin
  pass show govsvc/bob | govsvc users add "Bob Ross" --role viewer --json`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			password, err := a.newPassword(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.withStore(c.Context(), anyFile, func(store *db.DB) error {
				made, err := store.CreateUser(c.Context(), a.by(0), args[0], role, password)
				if err != nil {
					return poorPassword(c, err)
				}
				return a.print(made, usersTable(made))
			})
		},
	}
	roleFlag(c, &role, "what the user may do: admin, editor or viewer (required)")
	return c
}

func (a *app) usersListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the users of the file, by name",
		Long: `List the users of the file, by name. With --json each also has the number of
recovery codes that are left (recovery_codes) and when it was changed.`,
		Example: "  govsvc users list --json",
		Args:    arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withStore(c.Context(), aFile, func(store *db.DB) error {
				all, err := store.Users(c.Context())
				if err != nil {
					return err
				}
				return a.print(all, usersTable(all...))
			})
		},
	}
}

func (a *app) usersSetCommand() *cobra.Command {
	var role db.Role
	c := &cobra.Command{
		Use:        "set NAME --role ROLE",
		SuggestFor: []string{"update", "edit", "change", "role"},
		Short:      "Change a user's role",
		Long: `Change a user's role. It counts from the user's next request on. The last admin
stays one.`,
		Example: "  govsvc users set ada --role editor",
		Args:    arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withUser(c.Context(), args[0], func(store *db.DB, user db.User) error {
				user, err := store.SetUserRole(c.Context(), a.by(0), user.ID, role)
				if err != nil {
					return err
				}
				return a.print(user, usersTable(user))
			})
		},
	}
	roleFlag(c, &role, "what the user may do from now on: admin, editor or viewer (required)")
	return c
}

func (a *app) usersPasswdCommand() *cobra.Command {
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
				password, err := a.newPassword(c.Context(), user.Name)
				if err == nil {
					err = store.SetPassword(c.Context(), a.by(0), user.ID, password)
				}
				return a.printUser(c.Context(), store, user, "changed the password of %s; its sessions have ended", poorPassword(c, err))
			})
		},
	}
}

func (a *app) usersResetSecondFactorCommand() *cobra.Command {
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
				return a.printUser(c.Context(), store, user, "%s has no second factor now; its sessions have ended", err)
			})
		},
	}
}

func (a *app) usersRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:        "remove NAME",
		SuggestFor: []string{"delete", "rm"},
		Short:      "Remove a user and end its sessions",
		Long: `Remove a user and end its sessions. What the user did stays in the audit log,
under the user's id. The last admin can't be removed.`,
		Example: "  govsvc users remove bob",
		Args:    arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withUser(c.Context(), args[0], func(store *db.DB, user db.User) error {
				if err := store.RemoveUser(c.Context(), a.by(0), user.ID); err != nil {
					return err
				}
				return a.print(user, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "removed %s (%s)\n", oneLine(user.Name), user.ID)
					return err
				})
			})
		},
	}
}

// withUser runs a command on a user of the data file.
func (a *app) withUser(ctx context.Context, name string, run func(*db.DB, db.User) error) error {
	return a.withStore(ctx, aFile, func(store *db.DB) error {
		user, err := store.UserByName(ctx, name)
		if err != nil {
			return err
		}
		return run(store, user)
	})
}

// printUser shows a user as it is after a change, if that was made.
func (a *app) printUser(ctx context.Context, store *db.DB, user db.User, text string, err error) error {
	if err != nil {
		return err
	}
	if user, err = store.UserByName(ctx, user.Name); err != nil {
		return err
	}
	return a.print(user, func(w io.Writer) error {
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
func usersTable(list ...db.User) func(io.Writer) error {
	rows := make([][]string, len(list))
	for i, u := range list {
		factor := "off"
		if u.SecondFactor {
			factor = "on"
		}
		rows[i] = []string{u.Name, string(u.Role), factor, u.CreatedAt, orDash(u.LastSignInAt), u.ID}
	}
	return func(w io.Writer) error {
		return table(w, []string{"NAME", "ROLE", "SECOND FACTOR", "CREATED", "LAST SIGN-IN", "ID"}, rows)
	}
}
