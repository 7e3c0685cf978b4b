package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db"
)

func newDeadLettersReplayCommand(a *app) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:        "replay ID... | --all",
		SuggestFor: []string{"retry", "resend", "requeue"},
		Short:      "Put dead letters back, to be delivered again",
		Long: `Put dead letters back with a fresh set of attempts and the same event id. They
are due at once: a running "govsvc serve" or "govsvc deliver" sends them. Of the
ids given, all are put back or none.

A replay never makes the queue of a subscription longer than 10,000 deliveries.
Dead letters that are named are refused then. With --all, the oldest that fit are
put back and the others stay dead letters.

With --json an object: replayed, the number of them.`,
		Example: `  govsvc deadletters replay 01923f5e-7a10-7cc3-98c4-dc0c0c07398f
  govsvc deadletters replay --all`,
		Args: cobra.ArbitraryArgs, // counted once --all is known
		RunE: func(c *cobra.Command, ids []string) error {
			switch {
			case all && len(ids) > 0:
				return usageErrorf("give ids of dead letters or --all, not both%s", helpHint(c))
			case !all && len(ids) == 0:
				return usageErrorf("ID is missing; give ids of dead letters or --all%s", helpHint(c))
			}
			return changeDeadLetters(c.Context(), a, "replayed", ids, (*db.DB).ReplayDeadLetters)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "replay all dead letters of the organisation")
	return c
}
