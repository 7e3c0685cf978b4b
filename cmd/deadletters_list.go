package cmd

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/db/delivery"
)

func newDeadLettersListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List an organisation's dead letters, oldest event first",
		Long: `List an organisation's dead letters, oldest event first. LAST is the result of
the last attempt: the receiver's status, or the error. It also shows whether the
delivery was removed from a full queue.

--json prints an array of objects: id, subscription_id, url, event_id,
event_type, event_created_at, attempts and died_at. last_status, last_error and
last_answer (its first 1 KB) are about the last attempt; each of them may be
null. reason says why the delivery was removed from the queue before its last
attempt, or is null.`,
		Example: `  govsvc deadletters list
  govsvc deadletters list --json | jq -r '.[] | select(.event_type == "ping") | .id'`,
		Args: arguments(),
		RunE: inOrg(a, runDeadLettersList),
	}
}

func runDeadLettersList(ctx context.Context, a *app, store *db.DB, org db.Organisation) error {
	letters := []delivery.DeadLetter{}
	err := delivery.EachDeadLetter(ctx, store, org.Org, func(l delivery.DeadLetter) error {
		letters = append(letters, l)
		return nil
	})
	if err != nil {
		return err
	}
	header := []string{"ID", "EVENT", "EVENT ID", "RAISED", "SUBSCRIPTION", "URL", "ATTEMPTS", "DIED", "LAST"}
	return a.print(letters, tableOf(header, letters, func(l delivery.DeadLetter) []string {
		return []string{l.ID, l.EventType, l.EventID, l.EventAt, l.SubscriptionID, l.URL, strconv.Itoa(l.Attempts), l.DiedAt, deadLetterCause(l)}
	}))
}

// deadLetterCause says why a delivery is a dead letter.
func deadLetterCause(l delivery.DeadLetter) string {
	if l.Reason != nil {
		return *l.Reason
	}
	return attemptResult(l.LastStatus, l.LastError)
}
