package records

import (
	"strings"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// addRatings adds why a risk was re-rated: the evidence that its owner keeps for
// those who ask.
func addRatings(r *page.Request, record api.Record, data *recordData) error {
	reratings, err := api.RiskEvidence(r.Context(), r.Caller, ui.Text(record["id"]))
	if err != nil || len(reratings) == 0 {
		return err
	}
	names, err := ActorNamesOf(r, reratings, func(one api.Rerating) string { return one.Actor })
	if err != nil {
		return err
	}
	table := ui.Table{
		Caption: "Why it was rated lower", Shown: true,
		Columns: []ui.Column{{Label: "When", Kind: ui.Time}, {Label: "Who"}, {Label: "Change"}, {Label: "Reason", Kind: ui.Long}},
	}
	for _, one := range reratings {
		table.Rows = append(table.Rows, ui.Row{Cells: []any{one.At, names[one.Actor], rerating(one.Before, one.After), one.Reason}})
	}
	data.Tables = append(data.Tables, table)
	return nil
}

// rerating says what of a rating has moved.
func rerating(before, after db.Rating) string {
	var moved []string
	for _, part := range []struct{ name, from, to string }{
		{"Severity", before.Severity, after.Severity},
		{"Residual", before.ResidualSeverity, after.ResidualSeverity},
		{"Likelihood", before.Likelihood, after.Likelihood},
		{"Status", before.Status, after.Status},
	} {
		if part.from != part.to {
			moved = append(moved, part.name+" "+orNone(part.from)+" → "+orNone(part.to))
		}
	}
	return strings.Join(moved, ", ")
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return strings.ToLower(ui.Humanize(value))
}
