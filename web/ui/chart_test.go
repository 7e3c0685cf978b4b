package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/web/ui"
)

func TestLineChart(t *testing.T) {
	t.Parallel()
	if chart := ui.NewLineChart("x", "Score", "When", "Score", nil, nil); chart != nil {
		t.Errorf("a chart of nothing: %v", chart)
	}
	points := []ui.Point{{Label: "Jan", Value: 50}, {Label: "Feb", Value: 60, Tone: "critical"}, {Label: "Mar", Value: 70}}
	target := 80.0
	got := ui.NewLineChart("x", "Score", "When", "Score", points, &target)
	if diff := cmp.Diff([]ui.ChartLine{{Number: 1, Path: "M0.0 1000.0L500.0 666.7L1000.0 333.3", Markers: []ui.Marker{
		{X: "0%", Y: "100%", Shape: got.Lines[0].Markers[0].Shape, Label: "Jan: 50"},
		{X: "50%", Y: "66.7%", Shape: "M0-5.5 5.5 4.5H-5.5z", Tone: "critical", Label: "Feb: 60"},
		{X: "100%", Y: "33.3%", Shape: got.Lines[0].Markers[0].Shape, Label: "Mar: 70"},
	}}}, got.Lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]ui.ChartReference{{Kind: ui.Target, Label: "Target 80", Y: "0%"}}, got.References); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	if want := "Score: 50 at Jan, 70 at Mar. Target 80."; got.Description != want {
		t.Errorf("got %q, want %q", got.Description, want)
	}
	if x, y := tickLabels(got.XTicks), tickLabels(got.YTicks); x != "Jan Feb Mar" || y != "50 60 70 80" || len(got.Table.Rows) != 3 {
		t.Errorf("got the axes %q and %q, and the table %v", x, y, got.Table)
	}
}

func tickLabels(ticks []ui.Tick) string {
	labels := make([]string, len(ticks))
	for i, tick := range ticks {
		labels[i] = tick.Label
	}
	return strings.Join(labels, " ")
}

// TestDrawLines_RoundTicks checks the labels of the vertical axis, also for numbers near
// the limits of a float.
func TestDrawLines_RoundTicks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		values, include []float64
		want            string
	}{
		{values: []float64{5}, want: "4 4.5 5 5.5 6"},
		{values: []float64{0, 0}, want: "−1 −0.5 0 0.5 1"},
		{values: []float64{47.8, 71.3}, want: "40 50 60 70 80"},
		{values: []float64{47.8, 71.3}, include: []float64{0, 100}, want: "0 25 50 75 100"},
		{values: []float64{0.001, 0.0042}, want: "0.001 0.002 0.003 0.004 0.005"},
		{values: []float64{120_000, 4_000_000}, want: "0 1\u00a0m 2\u00a0m 3\u00a0m 4\u00a0m"},
		{values: []float64{1e17}, want: "1e+17 1e+17 1e+17 1e+17 1e+17"},
		{values: []float64{-1.7e308, 1.7e308}, want: "-1.7e+308 1.7e+308"},
		{values: []float64{-1e300}, want: "-1e+300 -1e+300 -1e+300 -1e+300 -1e+300 -1e+300"},
		{values: []float64{0, 5e-324}, want: "0 4.94e-324"},
	} {
		var points []ui.Point
		for _, v := range row.values {
			points = append(points, ui.Point{Label: "a", Value: v})
		}
		chart := ui.DrawLines(ui.LineSpec{Series: []ui.Series{{Points: points}}, Include: row.include})
		if got := tickLabels(chart.YTicks); got != row.want {
			t.Errorf("%v: got %q, want %q", row.values, got, row.want)
		}
		if text := fmt.Sprint(chart); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%v: %s", row.values, text)
		}
	}
}

// TestTimeTicks checks that the labels of dates are calendar dates, and few enough for a
// narrow screen.
func TestTimeTicks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ from, to, want string }{
		{"2026-10-07", "2026-10-07", "7 Oct 2026"},
		{"2026-10-07", "2026-10-10", "7 Oct 2026 8 Oct 9 Oct 10 Oct"},
		{"2026-10-07", "2026-10-30", "7 Oct 2026 14 Oct 21 Oct 28 Oct"},
		{"2026-10-07", "2027-01-12", "Nov 2026 Dec 2026 Jan 2027"},
		{"2024-11-27", "2026-10-07", "Jan 2025 Jul 2025 Jan 2026 Jul 2026"},
		{"2019-03-01", "2026-10-07", "2020 2022 2024 2026"},
		{"0001-01-01", "9999-12-31", "3000 6000 9000"},
	} {
		from, _ := time.Parse(time.DateOnly, row.from)
		to, _ := time.Parse(time.DateOnly, row.to)
		ticks := ui.TimeTicks(from, to)
		if got := tickLabels(ticks); got != row.want {
			t.Errorf("%s to %s: got %q, want %q", row.from, row.to, got, row.want)
		}
	}
}

// TestDrawLines_Dates checks that points have the distances of their dates, and that a
// long series has no markers but the last.
func TestDrawLines_Dates(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	chart := ui.DrawLines(ui.LineSpec{Series: []ui.Series{
		{Name: "One", Points: []ui.Point{{"1 Jan", 1, day(1), ""}, {"2 Jan", 2, day(2), ""}, {"11 Jan", 3, day(11), ""}}},
		{Name: "Two", Points: []ui.Point{{"6 Jan", 2, day(6), ""}}},
		{Name: "None"},
	}})
	if len(chart.Lines) != 2 || chart.Lines[0].Markers[1].X != "10%" || chart.Lines[1].Markers[0].X != "50%" || chart.Lines[1].Number != 2 {
		t.Errorf("got %+v", chart.Lines)
	}
	var long []ui.Point
	for i := range 100 {
		long = append(long, ui.Point{Label: fmt.Sprint(i), Value: float64(i)})
	}
	chart = ui.DrawLines(ui.LineSpec{Series: []ui.Series{{Points: long}}})
	if len(chart.Lines[0].Markers) != 1 || tickLabels(chart.XTicks) != "0 25 50 74 99" {
		t.Errorf("got %d markers and the labels %q", len(chart.Lines[0].Markers), tickLabels(chart.XTicks))
	}
}
