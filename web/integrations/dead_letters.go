package integrations

import (
	"context"
	"net/http"
	"slices"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/db/delivery"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// deadLettersData is the argument of the page "Dead letters".
type deadLettersData struct {
	Error     string
	Letters   []deadLetter
	Total     int
	ReplayAll ui.Action
	Pager     ui.Pager
	Newest    string
	Empty     ui.Empty
	MayChange bool
}

// deadLetter is a delivery that failed at its last attempt.
type deadLetter struct {
	delivery.Logged
	Path     string
	Outcome  string
	Selected bool
}

// ListDeadLetters lists the dead letters of the organisation, newest event first.
func ListDeadLetters(r *page.Request) error {
	data, err := loadDeadLetters(r)
	if err != nil {
		return err
	}
	return r.Render("dead-letters", "Dead letters", data)
}

func loadDeadLetters(r *page.Request) (*deadLettersData, error) {
	all, err := loadSubscriptions(r)
	if err != nil {
		return nil, err
	}
	data := &deadLettersData{MayChange: r.May(auth.Administer), Empty: ui.Empty{
		Title: "No dead letters", Advice: "Deliveries that fail at the last attempt are kept here. You can send them again.",
	}}
	for _, s := range all {
		data.Total += s.Dead
	}
	data.ReplayAll = ui.Action{
		Label: "Replay all", Path: "/webhooks/deadletters/replay-all", Post: true,
		Ask: "Sends " + ui.Plural(data.Total, "event", "events") + " to " + ui.Plural(receivers(all), "receiver", "receivers") + " again, each with the full number of attempts.",
	}
	const path = "/webhooks/deadletters"
	cursor := r.HTTP.URL.Query().Get("cursor")
	result, err := delivery.List(r.Context(), r.Store, r.Session.Organisation, delivery.Query{State: delivery.Dead, Cursor: cursor, Limit: deliveriesOnPage})
	if err != nil {
		return nil, err
	}
	for _, d := range result.Deliveries {
		data.Letters = append(data.Letters, deadLetter{Logged: d, Path: deliveryPath(d), Outcome: lastOutcome(d)})
	}
	data.Pager = ui.Pager{Shown: len(data.Letters), Total: data.Total, One: "dead letter", Many: "dead letters"}
	if result.Next != "" {
		data.Pager.Next = ui.WithQuery(path, "cursor", result.Next)
	}
	if result.Previous != "" {
		data.Pager.Previous = ui.WithQuery(path, "cursor", result.Previous)
		data.Newest = path
	}
	return data, nil
}

// receivers counts the subscriptions with dead letters.
func receivers(all []subscription) (n int) {
	for _, s := range all {
		if s.Dead > 0 {
			n++
		}
	}
	return n
}

// deadLetterChange replays or discards dead letters.
type deadLetterChange func(ctx context.Context, store *db.DB, by db.Actor, ids ...string) (int, error)

// ReplayDeadLetters sends the selected dead letters again.
func ReplayDeadLetters(r *page.Request) error {
	return changeDeadLetters(r, delivery.Replay, "will be sent again.", r.Value("next"))
}

// DiscardDeadLetters removes the selected dead letters.
func DiscardDeadLetters(r *page.Request) error {
	return changeDeadLetters(r, delivery.Discard, "discarded.", "")
}

// changeDeadLetters changes the dead letter whose button was pressed, or the
// selected ones. It needs at least one, because for the store no id means all.
func changeDeadLetters(r *page.Request, change deadLetterChange, outcome, next string) error {
	selected := r.HTTP.PostForm["id"]
	if only := r.Value("only"); only != "" {
		selected = []string{only}
	}
	selected = slices.Compact(slices.Sorted(slices.Values(selected)))
	if len(selected) == 0 {
		return renderDeadLetters(r, http.StatusUnprocessableEntity, "Select at least one dead letter.", nil)
	}
	n, err := change(r.Context(), r.Store, r.Actor(), selected...)
	if db.Is(err, db.NotFound) {
		return renderDeadLetters(r, http.StatusConflict, "Nothing was changed, because some of the selected deliveries are no longer dead letters. The list is up to date now.", selected)
	}
	if err != nil {
		return err
	}
	r.Flash(ui.Plural(n, "dead letter", "dead letters") + " " + outcome)
	if next = page.LocalPath(next); next == "/" {
		next = "/webhooks/deadletters"
	}
	return r.Redirect(next)
}

// renderDeadLetters shows the list with an error and the selection.
func renderDeadLetters(r *page.Request, status int, message string, selected []string) error {
	data, err := loadDeadLetters(r)
	if err != nil {
		return err
	}
	data.Error = message
	for i := range data.Letters {
		data.Letters[i].Selected = slices.Contains(selected, data.Letters[i].ID)
	}
	return r.RenderStatus(status, "dead-letters", "Dead letters", data)
}

// ReplayAllDeadLetters sends all dead letters of the organisation again.
func ReplayAllDeadLetters(r *page.Request) error {
	n, err := delivery.Replay(r.Context(), r.Store, r.Actor())
	if err != nil {
		return err
	}
	return r.RedirectWithMessage("/webhooks/deadletters", ui.Plural(n, "dead letter", "dead letters")+" will be sent again.")
}
