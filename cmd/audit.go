package cmd

import (
	"github.com/spf13/cobra"
)

func newAuditCommand(a *app) *cobra.Command {
	audit := &cobra.Command{
		Use:   "audit",
		Short: "Check the audit log, or write it out for a SIEM",
		Long: `Check the audit log, or write it out for a SIEM. It has an event for every
change, export and key operation. A hash chains each event to the one before it.`,
	}
	audit.AddCommand(newAuditExportCommand(a), newAuditVerifyCommand(a))
	a.orgFlag(audit.Commands()...)
	return audit
}
