package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db/delivery"
)

func newDeadLettersReplayCommand(a *app) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:        "replay ID... | --all",
		SuggestFor: []string{"retry", "resend", "requeue"},
		Short:      "Put dead letters back into the queue",
		Long: `Put dead letters back into the queue with a new set of attempts and the same
event id. They are due immediately: a running "govsvc serve" or "govsvc deliver"
sends them. Either all of the named dead letters are put back or none.

A replay never makes the queue of a subscription longer than 10,000 deliveries.
If named dead letters do not fit, the command is refused. With --all, the oldest
that fit are put back and the others remain dead letters.

--json prints an object: replayed (the number of dead letters).`,
		Example: `  govsvc deadletters replay 01923f5e-7a10-7cc3-98c4-dc0c0c07398f
  govsvc deadletters replay --all`,
		Args: cobra.ArbitraryArgs, // checked below, when --all is known
		RunE: func(c *cobra.Command, ids []string) error {
			switch {
			case all && len(ids) > 0:
				return usageErrorf("give ids of dead letters or --all, not both%s", helpHint(c))
			case !all && len(ids) == 0:
				return usageErrorf("ID is missing; give ids of dead letters or --all%s", helpHint(c))
			}
			return changeDeadLetters(c.Context(), a, "replayed", ids, delivery.Replay)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "replay all dead letters of the organisation")
	return c
}
