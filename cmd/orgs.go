package cmd

import (
	"context"
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
keys and audit log. A new file has one, "default".

The plan decides what an organisation's keys may do, and how often:

` + plansText() + `
Only an active subscription lets keys in.`,
	}
	set, rename, remove := newOrgsSetCommand(a), newOrgsRenameCommand(a), newOrgsRemoveCommand(a)
	a.reasonFlag(set, rename, remove)
	orgs.AddCommand(newOrgsCreateCommand(a), newOrgsListCommand(a), set, rename, remove)
	a.jsonFlag(orgs.Commands()...)
	return orgs
}

func newOrgsCreateCommand(a *app) *cobra.Command {
	plan := db.Enterprise
	c := &cobra.Command{
		Use:        "create NAME",
		SuggestFor: []string{"add", "new"},
		Short:      "Add an organisation",
		Long: `Add an organisation, with an active subscription. A name has 1 to 200
characters and is there once in a file. The organisation has no members: "govsvc
users add NAME --role admin --org" adds one.`,
		Example: `  govsvc orgs create acme
  govsvc orgs create acme --plan business --json`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withStore(c.Context(), anyFile, func(store *db.DB) error {
				made, err := store.CreateOrganisation(c.Context(), a.by(0), args[0], plan)
				if err != nil {
					return invalidIsMisuse(c, err)
				}
				return a.print(made, organisationsTable(made))
			})
		},
	}
	planFlag(c, &plan, "the organisation's plan: starter, professional, business or enterprise")
	return c
}

func newOrgsListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the organisations of the file, by name",
		Long:    "List the organisations of the file, by name, with plan and subscription.",
		Example: "  govsvc orgs list --json",
		Args:    arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withStore(c.Context(), aFile, func(store *db.DB) error {
				all, err := store.Organisations(c.Context())
				if err != nil {
					return err
				}
				return a.print(all, organisationsTable(all...))
			})
		},
	}
}

func newOrgsSetCommand(a *app) *cobra.Command {
	var plan db.Plan
	var subscription db.Subscription
	c := &cobra.Command{
		Use:        "set NAME",
		SuggestFor: []string{"update", "edit", "change"},
		Short:      "Change an organisation's plan or subscription",
		Long: `Change an organisation's plan, its subscription or both; what is not given
stays. A running server acts on it at once.`,
		Example: `  govsvc orgs set acme --plan enterprise
  govsvc orgs set acme --subscription past_due`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			if plan == "" && subscription == "" {
				return misusef("nothing to set; give --plan, --subscription or both%s", pointer(c))
			}
			return runOrgsSet(c.Context(), a, args[0], plan, subscription)
		},
	}
	planFlag(c, &plan, "the new plan: starter, professional, business or enterprise")
	c.Flags().Var(choice[db.Subscription]{&subscription, db.Subscriptions(), "STATE"}, "subscription",
		"the new state of the subscription: active, past_due or canceled")
	return c
}

func runOrgsSet(ctx context.Context, a *app, name string, plan db.Plan, subscription db.Subscription) error {
	return a.withStore(ctx, aFile, func(store *db.DB) error {
		org, err := store.SetOrganisation(ctx, a.by(0), name, plan, subscription)
		if err != nil {
			return err
		}
		return a.print(org, organisationsTable(org))
	})
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
		fmt.Fprintf(&text, "  %-13s %-22s %5d requests a minute, %7d in 24 hours\n",
			plan, strings.Join(includes, ", "), terms.PerMinute, terms.PerDay)
	}
	return text.String()
}

func planFlag(c *cobra.Command, plan *db.Plan, usage string) {
	c.Flags().Var(choice[db.Plan]{plan, db.Plans(), "PLAN"}, "plan", usage)
}

// organisationsTable shows organisations as text.
func organisationsTable(list ...db.Organisation) func(io.Writer) error {
	rows := make([][]string, len(list))
	for i, o := range list {
		rows[i] = []string{o.Name, string(o.Plan), string(o.Subscription), o.CreatedAt, o.ID}
	}
	return func(w io.Writer) error {
		return table(w, []string{"NAME", "PLAN", "SUBSCRIPTION", "CREATED", "ID"}, rows)
	}
}

// invalidIsMisuse makes the store's refusal of an argument one of the command
// line.
func invalidIsMisuse(c *cobra.Command, err error) error {
	if db.Is(err, db.Invalid) {
		return misusef("%s%s", err, pointer(c))
	}
	return err
}
