package records

import (
	"strings"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// addRatings adds the justifications of lower ratings, which are kept as evidence.
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
		Caption: "Rating justification", Shown: true,
		Columns: []ui.Column{{Label: "When", Kind: ui.Time}, {Label: "Actor"}, {Label: "Change"}, {Label: "Reason", Kind: ui.Long}},
	}
	for _, one := range reratings {
		table.Rows = append(table.Rows, ui.Row{Cells: []any{one.At, names[one.Actor], ratingChanges(one.Before, one.After), one.Reason}})
	}
	data.Tables = append(data.Tables, table)
	return nil
}

// ratingChanges describes the differences of two ratings.
func ratingChanges(before, after db.Rating) string {
	var changes []string
	for _, part := range []struct{ name, from, to string }{
		{"Severity", before.Severity, after.Severity},
		{"Residual", before.ResidualSeverity, after.ResidualSeverity},
		{"Likelihood", before.Likelihood, after.Likelihood},
		{"Status", before.Status, after.Status},
	} {
		if part.from != part.to {
			changes = append(changes, part.name+" "+orNone(part.from)+" → "+orNone(part.to))
		}
	}
	return strings.Join(changes, ", ")
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return strings.ToLower(ui.Humanize(value))
}
