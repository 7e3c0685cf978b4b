package ui

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// LineSpec says what a line chart shows.
type LineSpec struct {
	ID, Title  string // the id is unique in the page
	XLabel     string // what the points are ordered by: "Completed"
	YLabel     string // what the values are, with their unit: "Value, %"
	Series     []Series
	References []Reference
	Include    []float64 // values that the axis includes, such as 0 and 100
	// Table has the same values. Without rows, the chart makes it from the first series.
	Table Table
}

// Series is one line of a chart.
type Series struct {
	Name   string // "" in a chart with one series
	Points []Point
}

// Point is one value of a series.
type Point struct {
	Label string // a period or a date: "Q3 2026"
	Value float64
	// At places the point on an axis of dates. If a point of the chart has none, all
	// points have the same distance.
	At   time.Time
	Tone string // colour and shape of its marker; "" for those of the series
}

// Reference is a horizontal line.
type Reference struct {
	Kind  string // Target or Baseline
	Label string // with the value: "Target 80 %"
	Value float64
}

// The kinds of references.
const (
	Target   = "target"
	Baseline = "baseline"
)

// LineChart is the argument of the block "line": an SVG drawing with a description, and
// the same values as a table. Positions are percentages of the drawing, so that texts and
// markers keep their size on narrow screens and in print.
type LineChart struct {
	ID, Title   string
	YLabel      string
	Description string // text for screen readers
	Lines       []ChartLine
	References  []ChartReference
	XTicks      []Tick
	YTicks      []Tick
	Widest      string // the longest label of the vertical axis
	Table       Table
}

// ChartLine is a drawn series.
type ChartLine struct {
	Name    string
	Number  int    // from 1
	Path    string // in a view box of 1000 by 1000
	Markers []Marker
}

// Marker is a drawn point.
type Marker struct {
	X, Y  string // percentages
	Shape string // SVG path around the point
	Tone  string
	Label string // shown on hover
}

// ChartReference is a drawn reference.
type ChartReference struct {
	Kind, Label string
	Y           string // percentage
}

// Tick is a labelled place of an axis.
type Tick struct {
	Label  string
	At     string // percentage
	Anchor string // text-anchor of the label
}

// maxMarkers bounds the markers of a series. A longer series has one at its last point.
const maxMarkers = 60

// NewLineChart draws one series, and a target unless it is nil. It returns nil if there
// are no points.
func NewLineChart(id, title, xLabel, yLabel string, points []Point, target *float64) *LineChart {
	spec := LineSpec{ID: id, Title: title, XLabel: xLabel, YLabel: yLabel, Series: []Series{{Points: points}}}
	if target != nil {
		spec.References = []Reference{{Target, "Target " + FormatNumber(*target), *target}}
	}
	return DrawLines(spec)
}

// DrawLines draws a chart. It returns nil if no series has a point.
func DrawLines(spec LineSpec) *LineChart {
	x, y := newXAxis(spec.Series), newYAxis(spec)
	if x == nil {
		return nil
	}
	chart := &LineChart{ID: spec.ID, Title: spec.Title, YLabel: spec.YLabel, XTicks: x.ticks(), Table: spec.Table}
	for _, value := range y.ticks {
		tick := Tick{Label: y.label(value), At: y.percent(value)}
		chart.YTicks = append(chart.YTicks, tick)
		if len([]rune(tick.Label)) > len([]rune(chart.Widest)) {
			chart.Widest = tick.Label
		}
	}
	for _, r := range spec.References {
		chart.References = append(chart.References, ChartReference{r.Kind, r.Label, y.percent(r.Value)})
	}
	var description []string
	for i, s := range spec.Series {
		if len(s.Points) == 0 {
			continue
		}
		chart.Lines = append(chart.Lines, drawSeries(s, i+1, x, y))
		first, last, name := s.Points[0], s.Points[len(s.Points)-1], s.Name
		if name == "" {
			name = spec.Title
		}
		description = append(description, fmt.Sprintf("%s: %s at %s, %s at %s.", name, FormatNumber(first.Value), first.Label, FormatNumber(last.Value), last.Label))
	}
	for _, r := range spec.References {
		description = append(description, r.Label+".")
	}
	chart.Description = strings.Join(description, " ")
	if len(chart.Table.Rows) == 0 {
		chart.Table = Table{Caption: spec.Title, Columns: []Column{{Label: spec.XLabel}, {Label: spec.YLabel, Kind: Number}}}
		for _, p := range spec.Series[0].Points {
			chart.Table.Rows = append(chart.Table.Rows, Row{Cells: []any{p.Label, p.Value}})
		}
	}
	return chart
}

func drawSeries(s Series, number int, x *xAxis, y yAxis) ChartLine {
	line := ChartLine{Name: s.Name, Number: number}
	var path strings.Builder
	for i, p := range s.Points {
		share := x.share(i, p)
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", verb, share*1000, y.share(p.Value)*1000)
		if len(s.Points) <= maxMarkers || i == len(s.Points)-1 {
			line.Markers = append(line.Markers, Marker{
				X: Percentage(share), Y: y.percent(p.Value), Shape: markerShape(p.Tone), Tone: p.Tone, Label: p.Label + ": " + FormatNumber(p.Value),
			})
		}
	}
	line.Path = path.String()
	return line
}

// markerShape returns a shape for each group of tones, so that the meaning does not depend
// on the colour.
func markerShape(tone string) string {
	switch tone {
	case "critical":
		return "M0-5.5 5.5 4.5H-5.5z"
	case "high", "medium":
		return "M-4-4H4V4H-4z"
	}
	return "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"
}

// LegendShape is a marker in a legend.
type LegendShape struct{ Tone, Shape, Label string }

// RAGLegend explains the markers of red, amber and green values.
func RAGLegend() []LegendShape {
	var legend []LegendShape
	for _, value := range []string{"RED", "AMBER", "GREEN"} {
		legend = append(legend, LegendShape{Tone(value), markerShape(Tone(value)), Humanize(value)})
	}
	return legend
}

// NewMarker returns a marker in the middle of a row, at a share from 0 to 1 of its width.
func NewMarker(share float64, tone, label string) Marker {
	return Marker{X: Percentage(share), Y: "50%", Shape: markerShape(tone), Tone: tone, Label: label}
}

// Percentage formats a share from 0 to 1 as a place in a drawing.
func Percentage(share float64) string {
	return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.1f", share*100), "0"), ".") + "%"
}

// yAxis is the vertical scale. Its ticks are round numbers.
type yAxis struct {
	low, high float64
	step      float64 // 0 if the ticks are only the ends
	ticks     []float64
}

// yTicks is about how many ticks a vertical axis has.
const yTicks = 4

func newYAxis(spec LineSpec) yAxis {
	low, high := math.Inf(1), math.Inf(-1)
	include := func(v float64) { low, high = min(low, v), max(high, v) }
	for _, s := range spec.Series {
		for _, p := range s.Points {
			include(p.Value)
		}
	}
	for _, r := range spec.References {
		include(r.Value)
	}
	for _, v := range spec.Include {
		include(v)
	}
	if low == high {
		margin := max(1, math.Abs(low)/1e6) // adding 1 to a large float has no effect
		low, high = low-margin, high+margin
	}
	axis := yAxis{low: low, high: high, ticks: []float64{low, high}}
	step := roundStep((high - low) / yTicks)
	var ticks []float64
	for i := math.Floor(low / step); len(ticks) < 2*yTicks; i++ {
		ticks = append(ticks, i*step)
		if i*step >= high {
			break
		}
	}
	// numbers near the limits of a float have no round steps
	if n := len(ticks); n >= 2 && ticks[0] <= low && ticks[n-1] >= high && !math.IsInf(ticks[n-1]-ticks[0], 0) {
		axis = yAxis{low: ticks[0], high: ticks[n-1], step: step, ticks: ticks}
	}
	return axis
}

// roundStep returns the next of the numbers 1, 2, 2.5 and 5, times a power of ten.
func roundStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, round := range []float64{1, 2, 2.5, 5} {
		if raw <= round*power {
			return round * power
		}
	}
	return 10 * power
}

// share returns how far from the top a value is, from 0 to 1.
func (a yAxis) share(v float64) float64 {
	if height := a.high - a.low; !math.IsInf(height, 0) {
		return (a.high - v) / height
	}
	return (a.high/2 - v/2) / (a.high/2 - a.low/2)
}

func (a yAxis) percent(v float64) string { return Percentage(a.share(v)) }

// label formats a tick in few characters.
func (a yAxis) label(v float64) string {
	size := max(math.Abs(a.low), math.Abs(a.high))
	switch {
	case v == 0:
		return "0"
	case size >= 1e15 || a.step == 0 && math.Abs(v) < .01 || a.step > 0 && a.step < .01:
		return fmt.Sprintf("%.3g", v)
	case size >= 1e9:
		return FormatNumber(v/1e9) + "\u00a0bn"
	case size >= 1e6:
		return FormatNumber(v/1e6) + "\u00a0m"
	}
	return FormatNumber(v)
}
