package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newOrgsSetCommand(a *app) *cobra.Command {
	var plan db.Plan
	var subscription db.Subscription
	c := &cobra.Command{
		Use:        "set NAME",
		SuggestFor: []string{"update", "edit", "change"},
		Short:      "Change an organisation's plan or subscription",
		Long: `Change an organisation's plan, its subscription or both. It takes effect
immediately, also for a running server.`,
		Example: `  govsvc orgs set acme --plan enterprise
  govsvc orgs set acme --subscription past_due`,
		Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			if plan == "" && subscription == "" {
				return usageErrorf("nothing to set; give --plan, --subscription or both%s", helpHint(c))
			}
			return runOrgsSet(c.Context(), a, args[0], plan, subscription)
		},
	}
	planFlag(c, &plan, "the new plan: starter, professional, business or enterprise")
	c.Flags().Var(choiceValue[db.Subscription]{&subscription, db.Subscriptions(), "STATE"}, "subscription",
		"the new state of the subscription: active, past_due or canceled")
	return c
}

func runOrgsSet(ctx context.Context, a *app, name string, plan db.Plan, subscription db.Subscription) error {
	return a.withStore(ctx, mustExist, func(store *db.DB) error {
		org, err := store.Orgs.SetPlan(ctx, a.actor(0), name, plan, subscription)
		if err != nil {
			return err
		}
		return a.print(org, organisationsTable(org))
	})
}
