package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func (a *app) auditCommand() *cobra.Command {
	audit := &cobra.Command{
		Use:   "audit",
		Short: "Check the audit log",
		Long: `Check the audit log. Every change, export and key event is kept there, each
event chained to the one before it by its hash.`,
	}
	audit.AddCommand(a.auditVerifyCommand())
	a.orgFlag(audit.Commands()...)
	a.jsonFlag(audit.Commands()...)
	return audit
}

func (a *app) auditVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check that no event was altered or removed",
		Long: `Walk an organisation's audit log from its start and check each event's hash.
The exit status is 0 if all events are sound and 1 if not: the error then names
the first event that was altered, or whose predecessor was altered or removed.

With --json an object: org, intact, events (how many are sound) and broken
(null, or position, id and time of that event), in either case.`,
		Example: `  govsvc audit verify
  govsvc audit verify --org acme --json`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				return a.verifyAudit(c.Context(), store, org)
			})
		},
	}
}

// verdict is what a check of the audit log found.
type verdict struct {
	Org    string     `json:"org"`
	Intact bool       `json:"intact"`
	Events int        `json:"events"` // that are sound
	Broken *db.Broken `json:"broken"`
}

func (a *app) verifyAudit(ctx context.Context, store *db.DB, org db.Organisation) error {
	sound, broken, err := store.VerifyAudit(ctx, org.Org)
	if err != nil {
		return err
	}
	found := verdict{org.Name, broken == nil, sound, broken}
	if broken == nil {
		return a.print(found, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s: the audit log is intact, %d events\n", oneLine(org.Name), sound)
			return err
		})
	}
	if a.json {
		if err := a.printJSON(found); err != nil {
			return err
		}
	}
	return fmt.Errorf("the audit log of %q is broken at event %d (id %s, time %s): it was altered, or what stood before it was; "+
		"keep this file as evidence and compare it with a backup", org.Name, broken.Position, broken.ID, broken.Time)
}
