package overview

import (
	"math"
	"slices"

	"govsvc/server/api"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// assessmentState is the latest assessment with the trend of all assessments.
type assessmentState struct {
	Path    string
	Verdict *string
	At      string
	Scores  []score
	Change  string // since the assessment before; "" for the first
	Trend   *ui.LineChart
}

// score is a figure of an assessment.
type score struct{ Value, Label string }

func assessmentStateOf(all []api.Assessment) *assessmentState {
	if len(all) == 0 {
		return nil
	}
	latest := all[len(all)-1]
	state := &assessmentState{Path: records.Path("assessment", latest.ID), Verdict: latest.Verdict, At: latest.CompletedAt}
	for _, one := range []struct {
		label string
		value *float64
	}{{"overall", latest.OverallScore}, {"adjusted", latest.AdjustedScore}} {
		if one.value != nil {
			state.Scores = append(state.Scores, score{ui.FormatNumber(*one.value), one.label})
		}
	}
	if latest.Confidence != nil {
		state.Scores = append(state.Scores, score{ui.FormatPercent(*latest.Confidence * 100), "confidence"})
	}
	if len(all) > 1 {
		state.Change = assessmentChange(all[len(all)-2], latest)
	}
	var points []ui.Point
	table := ui.Table{Caption: "Assessments, latest first", Columns: []ui.Column{
		{Label: "Completed"}, {Label: "Verdict", Kind: ui.Badge}, {Label: "Overall", Kind: ui.Number}, {Label: "Adjusted", Kind: ui.Number},
	}}
	for _, a := range all {
		if a.OverallScore != nil {
			at, _, _ := ui.ParseTime(a.CompletedAt)
			points = append(points, ui.Point{Label: ui.FormatDay(a.CompletedAt), Value: *a.OverallScore, At: at})
		}
		table.Rows = slices.Insert(table.Rows, 0, ui.Row{
			Href: records.Path("assessment", a.ID), Cells: []any{ui.FormatDay(a.CompletedAt), a.Verdict, a.OverallScore, a.AdjustedScore},
		})
	}
	if state.Trend = ui.NewLineChart("score", "Overall score", "Completed", "Overall", points, nil); state.Trend != nil {
		state.Trend.Table = table
	}
	return state
}

// assessmentChange compares two assessments: the verdict, and the overall score.
func assessmentChange(before, latest api.Assessment) string {
	text := ""
	switch was, is := ui.Text(before.Verdict), ui.Text(latest.Verdict); {
	case was == "" || is == "":
	case was == is:
		text = "Verdict unchanged"
	default:
		text = "Verdict changed from " + ui.Humanize(was)
	}
	if before.OverallScore != nil && latest.OverallScore != nil {
		if text != "" {
			text += ", "
		}
		text += scoreChange(*latest.OverallScore - *before.OverallScore)
	}
	if text == "" {
		return ""
	}
	return ui.Capitalize(text) + " since " + ui.FormatDay(before.CompletedAt) + "."
}

// scoreChange describes the difference of two scores.
func scoreChange(difference float64) string {
	difference = math.Round(difference*100) / 100
	points := ui.Plural(math.Abs(difference), "point", "points")
	switch {
	case difference > 0:
		return points + " higher"
	case difference < 0:
		return points + " lower"
	}
	return "the same score"
}
