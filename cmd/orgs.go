package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newOrgsCommand(a *app) *cobra.Command {
	orgs := &cobra.Command{
		Use:   "orgs",
		Short: "Create, list, change, rename and remove organisations",
		Long: `Create, list, change, rename and remove organisations. Each has its own records,
keys and audit log. A new data file has one organisation, "default".

The plan determines what an organisation's keys may do, and how many requests
they may make:

` + plansText() + `
Keys work only with an active subscription.`,
	}
	set, rename, remove := newOrgsSetCommand(a), newOrgsRenameCommand(a), newOrgsRemoveCommand(a)
	a.reasonFlag(set, rename, remove)
	orgs.AddCommand(newOrgsCreateCommand(a), newOrgsListCommand(a), set, rename, remove)
	a.jsonFlag(orgs.Commands()...)
	return orgs
}

// plansText shows what each plan includes.
func plansText() string {
	var text strings.Builder
	for _, plan := range db.Plans() {
		terms := plan.Entitlements()
		includes := append([]string{"API"}, terms.Features...)
		if !terms.API {
			includes = []string{"no API"}
		}
		fmt.Fprintf(&text, "  %-13s %-22s %5d a minute, %7d in 24 hours\n",
			plan, strings.Join(includes, ", "), terms.PerMinute, terms.PerDay)
	}
	return text.String()
}

func planFlag(c *cobra.Command, plan *db.Plan, usage string) {
	c.Flags().Var(choiceValue[db.Plan]{plan, db.Plans(), "PLAN"}, "plan", usage)
}

// organisationsTable shows organisations as text.
func organisationsTable(list ...db.Organisation) func(io.Writer) error {
	return tableOf([]string{"NAME", "PLAN", "SUBSCRIPTION", "CREATED", "ID"}, list, func(o db.Organisation) []string {
		return []string{o.Name, string(o.Plan), string(o.Subscription), o.CreatedAt, o.ID}
	})
}
