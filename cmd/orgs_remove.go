package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/auth"
)

func newOrgsRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "remove NAME",
		SuggestFor: []string{"delete", "rm"},
		Short:      "Remove an empty organisation",
		Long: `Remove an organisation without records, webhook subscriptions and evidence
packs. All its keys must be revoked, and each of its users must be a member of
another organisation. The memberships of its users end. "default" and the last
organisation can't be removed.

Its audit log remains under the name that the command prints. "govsvc check"
verifies it, and "govsvc audit export --org" and "verify --org" accept that
name. The former name is free for a new organisation.

--json prints an object: id, name, audit_log (the name of what remains) and
removed_at.`,
		Example: "  govsvc orgs remove acme",
		Args:    arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withStore(c.Context(), mustExist, func(store *db.DB) error {
				removed, err := auth.New(store).Memberships.RemoveOrganisation(c.Context(), a.actor(0), args[0])
				if err != nil {
					return err
				}
				return a.print(removed, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "removed %s; its audit log remains as %q\n", oneLine(removed.Name), removed.AuditLog)
					return err
				})
			})
		},
	}
}
