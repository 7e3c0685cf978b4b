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

// lettersData is what the page of dead letters shows.
type lettersData struct {
	Fault     string
	Letters   []letter
	Total     int
	ReplayAll ui.Action
	Pager     ui.Pager
	Newest    string
	Empty     ui.Empty
	MayChange bool
}

// letter is a dead letter as the page shows it.
type letter struct {
	delivery.Logged
	Path    string
	Outcome string
	Chosen  bool
}

// ListDeadLetters lists the organisation's dead letters, newest event first.
func ListDeadLetters(r *page.Request) error {
	data, err := loadDeadLetters(r)
	if err != nil {
		return err
	}
	return r.Render("dead-letters", "Dead letters", data)
}

func loadDeadLetters(r *page.Request) (*lettersData, error) {
	all, err := loadSubscriptions(r)
	if err != nil {
		return nil, err
	}
	data := &lettersData{MayChange: r.May(auth.Administer), Empty: ui.Empty{
		Title: "No dead letters", Advice: "What a receiver has not acknowledged after the last attempt waits here to be sent again.",
	}}
	for _, s := range all {
		data.Total += s.Dead
	}
	data.ReplayAll = ui.Action{
		Label: "Replay all", Path: "/webhooks/deadletters/replay-all", Post: true,
		Ask: "Sends " + ui.Plural(data.Total, "event", "events") + " to " + ui.Plural(receivers(all), "receiver", "receivers") + " again, each with a fresh set of attempts.",
	}
	const path = "/webhooks/deadletters"
	cursor := r.HTTP.URL.Query().Get("cursor")
	result, err := delivery.List(r.Context(), r.Store, r.Session.Organisation, delivery.Query{State: delivery.Dead, Cursor: cursor, Limit: deliveriesOnPage})
	if err != nil {
		return nil, err
	}
	for _, d := range result.Deliveries {
		data.Letters = append(data.Letters, letter{Logged: d, Path: deliveryPath(d), Outcome: outcomeOf(d)})
	}
	data.Pager = ui.Pager{Shown: len(data.Letters), Total: data.Total, One: "dead letter", Many: "dead letters"}
	if result.Next != "" {
		data.Pager.Next = ui.WithQuery(path, "cursor", result.Next)
	}
	if cursor != "" {
		data.Newest = path
	}
	return data, nil
}

// receivers counts the subscriptions that have dead letters.
func receivers(all []subscription) (n int) {
	for _, s := range all {
		if s.Dead > 0 {
			n++
		}
	}
	return n
}

// lettersChange replays or discards dead letters.
type lettersChange func(ctx context.Context, store *db.DB, by db.Actor, ids ...string) (int, error)

// ReplayDeadLetters puts the chosen dead letters back.
func ReplayDeadLetters(r *page.Request) error {
	return changeDeadLetters(r, delivery.Replay, "will be sent again.", r.Value("next"))
}

// DiscardDeadLetters removes the chosen dead letters for good.
func DiscardDeadLetters(r *page.Request) error {
	return changeDeadLetters(r, delivery.Discard, "discarded.", "")
}

// changeDeadLetters changes the dead letters that the form chose: the one whose
// button was pressed, or those that were ticked. Without one nothing is done;
// to the store no id means all.
func changeDeadLetters(r *page.Request, change lettersChange, said, next string) error {
	chosen := r.HTTP.PostForm["id"]
	if only := r.Value("only"); only != "" {
		chosen = []string{only}
	}
	chosen = slices.Compact(slices.Sorted(slices.Values(chosen)))
	if len(chosen) == 0 {
		return renderDeadLetters(r, http.StatusUnprocessableEntity, "Choose at least one dead letter.", nil)
	}
	n, err := change(r.Context(), r.Store, r.Actor(), chosen...)
	if db.Is(err, db.NotFound) {
		return renderDeadLetters(r, http.StatusConflict, "Nothing was done: some of those chosen are no dead letters any more. This is the list as it is now.", chosen)
	}
	if err != nil {
		return err
	}
	r.Flash(ui.Plural(n, "dead letter", "dead letters") + " " + said)
	if next = page.LocalPath(next); next == "/" {
		next = "/webhooks/deadletters"
	}
	return r.Redirect(next)
}

// renderDeadLetters shows the list with what went wrong and what was chosen.
func renderDeadLetters(r *page.Request, status int, fault string, chosen []string) error {
	data, err := loadDeadLetters(r)
	if err != nil {
		return err
	}
	data.Fault = fault
	for i := range data.Letters {
		data.Letters[i].Chosen = slices.Contains(chosen, data.Letters[i].ID)
	}
	return r.RenderStatus(status, "dead-letters", "Dead letters", data)
}

// ReplayAllDeadLetters puts all dead letters of the organisation back.
func ReplayAllDeadLetters(r *page.Request) error {
	n, err := delivery.Replay(r.Context(), r.Store, r.Actor())
	if err != nil {
		return err
	}
	return r.RedirectWithMessage("/webhooks/deadletters", ui.Plural(n, "dead letter", "dead letters")+" will be sent again.")
}
