package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/db/delivery"
)

func newDeadLettersDiscardCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "discard ID...",
		SuggestFor: []string{"delete", "remove", "rm", "purge"},
		Short:      "Remove dead letters permanently",
		Long: `Remove dead letters permanently. Their receivers never get them. If one of the
dead letters does not exist, none is removed.

--json prints an object: discarded (the number of dead letters).`,
		Example: `  govsvc deadletters discard 01923f5e-7a10-7cc3-98c4-dc0c0c07398f
  govsvc deadletters list --json | jq -r '.[].id' | xargs govsvc deadletters discard`,
		Args: arguments("ID..."),
		RunE: func(c *cobra.Command, ids []string) error {
			return changeDeadLetters(c.Context(), a, "discarded", ids, delivery.Discard)
		},
	}
}
