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
		Long: `Remove dead letters permanently: their receivers never get them. Either all of
the named dead letters are removed or none.

With --json an object: discarded, the number of them.`,
		Example: `  govsvc deadletters discard 01923f5e-7a10-7cc3-98c4-dc0c0c07398f
  govsvc deadletters list --json | jq -r '.[].id' | xargs govsvc deadletters discard`,
		Args: arguments("ID..."),
		RunE: func(c *cobra.Command, ids []string) error {
			return changeDeadLetters(c.Context(), a, "discarded", ids, delivery.Discard)
		},
	}
}
