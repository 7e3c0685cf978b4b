package overview

import (
	"fmt"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// roadmapState is the progress of the active roadmap.
type roadmapState struct {
	Bars    []ui.StackedBar
	Legend  []ui.BarPart
	Summary string // "12 of 20 completed"
}

// phaseParts are the parts of the bar of a phase.
var phaseParts = []ui.BarPart{
	{Label: "Completed", Tone: "good"},
	{Label: "Blocked", Tone: "critical"},
	{Label: "Open", Tone: "neutral"},
}

func roadmapStateOf(phases []api.PhaseState) roadmapState {
	var state roadmapState
	completed, total := 0, 0
	for i, p := range phases {
		parts := append([]ui.BarPart{}, phaseParts...)
		parts[0].Count, parts[1].Count, parts[2].Count = p.Completed, p.Blocked, p.Total-p.Completed-p.Blocked
		bar := ui.NewStackedBar(fmt.Sprintf("phase-%d", i), p.Name, records.ListWith(resource.Milestone, "phase", p.Name), parts, p.Total)
		bar.Note = ui.FormatNumber(p.Completed) + " of " + ui.FormatNumber(p.Total) + " completed"
		bar.Overdue, bar.NextDue = p.Overdue, p.NextDue
		state.Bars = append(state.Bars, bar)
		completed, total = completed+p.Completed, total+p.Total
	}
	state.Legend = ui.Legend(phaseParts, state.Bars)
	if total > 0 {
		state.Summary = ui.FormatNumber(completed) + " of " + ui.FormatNumber(total) + " completed"
	}
	return state
}
