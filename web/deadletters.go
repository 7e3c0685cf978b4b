package web

import (
	"context"
	"net/http"
	"slices"

	"govsvc/db"
	"govsvc/db/auth"
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
	db.LoggedDelivery
	Path    string
	Outcome string
	Chosen  bool
}

// deadLetters lists the organisation's dead letters, newest event first.
func (v *visit) deadLetters() error {
	data, err := v.lettersData()
	if err != nil {
		return err
	}
	return v.render("dead-letters", "Dead letters", data)
}

func (v *visit) lettersData() (*lettersData, error) {
	all, err := v.subscriptions()
	if err != nil {
		return nil, err
	}
	data := &lettersData{MayChange: v.may(auth.Administer), Empty: ui.Empty{
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
	cursor := v.r.URL.Query().Get("cursor")
	page, err := v.Store.Deliveries(v.r.Context(), v.session.Organisation, db.DeliveryQuery{State: db.Dead, Cursor: cursor, Limit: deliveriesOnPage})
	if err != nil {
		return nil, err
	}
	for _, d := range page.Deliveries {
		data.Letters = append(data.Letters, letter{LoggedDelivery: d, Path: deliveryPath(d), Outcome: outcomeOf(d)})
	}
	data.Pager = ui.Pager{Shown: len(data.Letters), Total: data.Total, One: "dead letter", Many: "dead letters"}
	if page.Next != "" {
		data.Pager.Next = ui.WithQuery(path, "cursor", page.Next)
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
type lettersChange func(ctx context.Context, by db.Actor, ids ...string) (int, error)

// replayLetters puts the chosen dead letters back.
func (v *visit) replayLetters() error {
	return v.changeLetters(v.Store.ReplayDeadLetters, "will be sent again.", v.value("next"))
}

// discardLetters removes the chosen dead letters for good.
func (v *visit) discardLetters() error {
	return v.changeLetters(v.Store.DiscardDeadLetters, "discarded.", "")
}

// changeLetters changes the dead letters that the form chose: the one whose
// button was pressed, or those that were ticked. Without one nothing is done;
// to the store no id means all.
func (v *visit) changeLetters(change lettersChange, said, next string) error {
	chosen := v.r.PostForm["id"]
	if only := v.value("only"); only != "" {
		chosen = []string{only}
	}
	chosen = slices.Compact(slices.Sorted(slices.Values(chosen)))
	if len(chosen) == 0 {
		return v.lettersAgain(http.StatusUnprocessableEntity, "Choose at least one dead letter.", nil)
	}
	n, err := change(v.r.Context(), v.by(), chosen...)
	if db.Is(err, db.NotFound) {
		return v.lettersAgain(http.StatusConflict, "Nothing was done: some of those chosen are no dead letters any more. This is the list as it is now.", chosen)
	}
	if err != nil {
		return err
	}
	v.flash(ui.Plural(n, "dead letter", "dead letters") + " " + said)
	if next = localPath(next); next == "/" {
		next = "/webhooks/deadletters"
	}
	v.redirect(next)
	return nil
}

// lettersAgain shows the list with what went wrong and what was chosen.
func (v *visit) lettersAgain(status int, fault string, chosen []string) error {
	data, err := v.lettersData()
	if err != nil {
		return err
	}
	data.Fault = fault
	for i := range data.Letters {
		data.Letters[i].Chosen = slices.Contains(chosen, data.Letters[i].ID)
	}
	return v.renderStatus(status, "dead-letters", "Dead letters", data)
}

// replayAllLetters puts all dead letters of the organisation back.
func (v *visit) replayAllLetters() error {
	n, err := v.Store.ReplayDeadLetters(v.r.Context(), v.by())
	if err != nil {
		return err
	}
	v.flash(ui.Plural(n, "dead letter", "dead letters") + " will be sent again.")
	v.redirect("/webhooks/deadletters")
	return nil
}
