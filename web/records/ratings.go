package records

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// ratings are the severities of a risk side by side, with how they changed.
type ratings struct {
	Severities []ui.Fact // untreated, inherent and residual
	Strips     []ratingStrip
	From, To   string // the times of both ends of the strips
	Table      ui.Table
}

// ratingStrip shows the values of one severity over time.
type ratingStrip struct {
	ID, Label, Description string
	Parts                  []ui.BarPart
}

// rating is the state from an instant on.
type rating struct {
	at                 time.Time
	severity, residual string
	likelihood         string
	change             *change // nil for the first state
}

// loadRatings returns the severities of a risk. Their history is that of the audit log, so
// that it starts with the first recorded change.
func loadRatings(r *page.Request, record api.Record, history []change) (*ratings, error) {
	baseline, err := api.RiskBaseline(r.Context(), r.Caller, ui.Text(record["id"]))
	if err != nil {
		return nil, err
	}
	made := &ratings{Severities: []ui.Fact{
		{Label: "Untreated baseline", Kind: ui.Badge, Value: baseline},
		{Label: "Inherent severity", Kind: ui.Badge, Value: record["severity"]},
		{Label: "Residual severity", Kind: ui.Badge, Value: record["residual_severity"]},
	}}
	states := ratingStates(record, history)
	first, now := states[0].at, r.Store.Now()
	if !first.Before(now) {
		return made, nil
	}
	made.From, made.To = first.Format(time.RFC3339), now.UTC().Format(time.RFC3339)
	made.Strips = []ratingStrip{
		newRatingStrip("inherent", "Inherent", states, now, func(s rating) string { return s.severity }),
		newRatingStrip("residual", "Residual", states, now, func(s rating) string { return s.residual }),
	}
	made.Table = ratingTable(states)
	return made, nil
}

// ratingStates returns the ratings of a risk, oldest first. It goes back from the present
// rating through the changes.
func ratingStates(record api.Record, history []change) []rating {
	state := rating{severity: ui.Text(record["severity"]), residual: ui.Text(record["residual_severity"]), likelihood: ui.Text(record["likelihood"])}
	var states []rating
	for i := range history { // newest first
		before, moved := state, false
		for _, member := range history[i].members {
			place := map[string]*string{"severity": &before.severity, "residual_severity": &before.residual, "likelihood": &before.likelihood}[member.Field]
			if place != nil {
				*place, moved = ui.Text(member.From), true
			}
		}
		if !moved {
			continue
		}
		state.at, _, _ = ui.ParseTime(history[i].At)
		state.change = &history[i]
		states = append(states, state)
		state = before
	}
	state.change = nil
	if added, _, ok := ui.ParseTime(record["created_at"]); ok && (len(states) == 0 || state.severity+state.residual+state.likelihood != "" && added.Before(states[len(states)-1].at)) {
		state.at = added
		states = append(states, state)
	}
	slices.Reverse(states)
	return states
}

func newRatingStrip(id, label string, states []rating, now time.Time, value func(rating) string) ratingStrip {
	strip := ratingStrip{ID: "rating-" + id, Label: label}
	const width = 1000.0
	begin := states[0].at
	total := now.Sub(begin).Seconds()
	var parts []string
	for i := 0; i < len(states); {
		from, here := states[i].at, value(states[i])
		for i < len(states) && value(states[i]) == here {
			i++
		}
		until := now
		if i < len(states) {
			until = states[i].at
		}
		if here == "" {
			here = "not rated"
		}
		x := from.Sub(begin).Seconds() / total * width
		strip.Parts = append(strip.Parts, ui.BarPart{
			Label: here, Tone: ui.Tone(here), X: fmt.Sprintf("%.1f", x), Width: fmt.Sprintf("%.1f", max(until.Sub(from).Seconds()/total*width-2, 2)),
		})
		parts = append(parts, strings.ToLower(ui.Humanize(here))+" from "+ui.FormatDay(from.Format(time.RFC3339)))
	}
	strip.Description = label + " severity: " + strings.Join(parts, ", ") + "."
	return strip
}

// ratingTable lists the changes of the ratings, newest first.
func ratingTable(states []rating) ui.Table {
	table := ui.Table{Caption: "Ratings", Columns: []ui.Column{
		{Label: "From", Kind: ui.Time}, {Label: "Inherent", Kind: ui.Badge}, {Label: "Likelihood", Kind: ui.Badge}, {Label: "Residual", Kind: ui.Badge}, {Label: "Actor"},
	}}
	for _, state := range slices.Backward(states) {
		actor := ""
		if state.change != nil {
			actor = state.change.Actor
		}
		table.Rows = append(table.Rows, ui.Row{Cells: []any{state.at, state.severity, state.likelihood, state.residual, actor}})
	}
	return table
}
