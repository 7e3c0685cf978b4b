package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newDeadLettersCommand(a *app) *cobra.Command {
	letters := &cobra.Command{
		Use:   "deadletters",
		Short: "List, replay and discard webhook deliveries that ran out of attempts",
		Long: `List, replay and discard dead letters: webhook deliveries that ran out of
attempts, that left a full queue, or whose receiver's address is not allowed. A
queue is full at 10,000 deliveries of a subscription; then its oldest one leaves
it. Dead letters are kept until they are replayed or discarded, or their
subscription is deleted.`,
	}
	letters.AddCommand(newDeadLettersListCommand(a), newDeadLettersReplayCommand(a), newDeadLettersDiscardCommand(a))
	a.orgFlag(letters.Commands()...)
	a.jsonFlag(letters.Commands()...)
	return letters
}

func newDeadLettersListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List an organisation's dead letters, oldest event first",
		Long: `List an organisation's dead letters, oldest event first. LAST is what came of
the last attempt: the receiver's status, or why there was none. For a delivery
that left a full queue it says so.

With --json an array of objects: id, subscription_id, url, event_id, event_type,
event_created_at, attempts, died_at, and of the last attempt last_status,
last_error and last_answer (its first 1 KB); each of these may be null. reason
says why the delivery left the queue before its last attempt, else it is null.`,
		Example: `  govsvc deadletters list
  govsvc deadletters list --json | jq -r '.[] | select(.event_type == "ping") | .id'`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				return runDeadLettersList(c.Context(), a, store, org)
			})
		},
	}
}

func runDeadLettersList(ctx context.Context, a *app, store *db.DB, org db.Organisation) error {
	letters, rows := []db.DeadLetter{}, [][]string{}
	err := store.DeadLetters(ctx, org.Org, func(l db.DeadLetter) error {
		letters = append(letters, l)
		rows = append(rows, []string{
			l.ID, l.EventType, l.EventID, l.EventAt, l.SubscriptionID, l.URL,
			strconv.Itoa(l.Attempts), l.DiedAt, deathOf(l),
		})
		return nil
	})
	if err != nil {
		return err
	}
	return a.print(letters, func(w io.Writer) error {
		return table(w, []string{"ID", "EVENT", "EVENT ID", "RAISED", "SUBSCRIPTION", "URL", "ATTEMPTS", "DIED", "LAST"}, rows)
	})
}

// deathOf is why a delivery is a dead letter.
func deathOf(l db.DeadLetter) string {
	if l.Reason != nil {
		return *l.Reason
	}
	return lastOutcome(l.LastStatus, l.LastError)
}

// lastOutcome is what came of the last attempt of a delivery.
func lastOutcome(status *int, failure *string) string {
	switch {
	case status != nil:
		return strconv.Itoa(*status)
	case failure != nil && *failure != "":
		return *failure
	}
	return "-"
}

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
				return misusef("give ids of dead letters or --all, not both%s", pointer(c))
			case !all && len(ids) == 0:
				return misusef("ID is missing; give ids of dead letters or --all%s", pointer(c))
			}
			return changeDeadLetters(c.Context(), a, "replayed", ids, (*db.DB).ReplayDeadLetters)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "replay all dead letters of the organisation")
	return c
}

func newDeadLettersDiscardCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "discard ID...",
		SuggestFor: []string{"delete", "remove", "rm", "purge"},
		Short:      "Remove dead letters for good",
		Long: `Remove dead letters for good: their receivers never get them. Of the ids given,
all are removed or none.

With --json an object: discarded, the number of them.`,
		Example: `  govsvc deadletters discard 01923f5e-7a10-7cc3-98c4-dc0c0c07398f
  govsvc deadletters list --json | jq -r '.[].id' | xargs govsvc deadletters discard`,
		Args: arguments("ID..."),
		RunE: func(c *cobra.Command, ids []string) error {
			return changeDeadLetters(c.Context(), a, "discarded", ids, (*db.DB).DiscardDeadLetters)
		},
	}
}

// changeDeadLetters changes dead letters, all of them where no id is given, and
// tells how many.
func changeDeadLetters(ctx context.Context, a *app, verb string, ids []string,
	change func(*db.DB, context.Context, db.Actor, ...string) (int, error),
) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	return a.withOrg(ctx, aFile, func(store *db.DB, org db.Organisation) error {
		n, err := change(store, ctx, a.by(org.Org), ids...)
		if err != nil {
			return err
		}
		return a.print(map[string]int{verb: n}, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, verb+" "+counted(n, "dead letter"))
			return err
		})
	})
}
