package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newDeadLettersCommand(a *app) *cobra.Command {
	letters := &cobra.Command{
		Use:   "deadletters",
		Short: "List, replay and discard webhook deliveries that ran out of attempts",
		Long: `List, replay and discard dead letters: webhook deliveries that ran out of
attempts, were removed from a full queue, or whose receiver's address is not
allowed. A queue is full at 10,000 deliveries of a subscription. Then its oldest
delivery becomes a dead letter. Dead letters are kept until they are replayed or
discarded, or their subscription is deleted.`,
	}
	letters.AddCommand(newDeadLettersListCommand(a), newDeadLettersReplayCommand(a), newDeadLettersDiscardCommand(a))
	a.orgFlag(letters.Commands()...)
	a.jsonFlag(letters.Commands()...)
	return letters
}

// changeDeadLetters changes the dead letters with these ids, or all of them without
// ids, and prints how many.
func changeDeadLetters(ctx context.Context, a *app, verb string, ids []string,
	change func(context.Context, *db.DB, db.Actor, ...string) (int, error),
) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	return a.withOrg(ctx, mustExist, func(store *db.DB, org db.Organisation) error {
		n, err := change(ctx, store, a.actor(org.Org), ids...)
		if err != nil {
			return err
		}
		return a.print(map[string]int{verb: n}, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, verb+" "+formatCount(n, "dead letter"))
			return err
		})
	})
}
