package cmd

import (
	"github.com/spf13/cobra"
)

func newAuditCommand(a *app) *cobra.Command {
	audit := &cobra.Command{
		Use:   "audit",
		Short: "Check the audit log, or write it out for a SIEM",
		Long: `Check the audit log, or write it out for a SIEM. Every change, export and key
event is kept there, each event chained to the one before it by its hash.`,
	}
	audit.AddCommand(newAuditExportCommand(a), newAuditVerifyCommand(a))
	a.orgFlag(audit.Commands()...)
	return audit
}
