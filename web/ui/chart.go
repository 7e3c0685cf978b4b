package ui

import (
	"fmt"
	"math"
	"strings"
)

// Point is one value of a series.
type Point struct {
	Label string // a period or a date: "Q3 2026"
	Value float64
}

// LineChart is the argument of the block "line": an SVG drawing with a
// description, and the same values as a table. The labels are outside the
// drawing, so that they keep their size on narrow screens.
type LineChart struct {
	ID, Title   string
	Description string // text for screen readers
	Line, Area  string // SVG paths in a view box of 600 by 160
	Dots        string
	Target      string // SVG path; "" without a target
	Low, High   string // the ends of the scale
	First, Last string // the labels of the first and the last point
	TargetLabel string
	Table       Table
}

// The view box of charts, and the margin at its top and bottom.
const (
	chartWidth  = 600.0
	chartHeight = 160.0
	chartMargin = 10.0
)

// NewLineChart draws the points in their order, and a target unless it is nil. xLabel
// and yLabel are the headings of the two columns of the table. It returns nil if there
// are no points.
func NewLineChart(id, title, xLabel, yLabel string, points []Point, target *float64) *LineChart {
	if len(points) == 0 {
		return nil
	}
	low, high := scale(points, target)
	at := func(i int, v float64) (x, y float64) {
		x = chartWidth / 2
		if len(points) > 1 {
			x = chartWidth * float64(i) / float64(len(points)-1)
		}
		return x, chartHeight - chartMargin - (v-low)/(high-low)*(chartHeight-2*chartMargin)
	}
	var line, dots strings.Builder
	table := Table{Caption: title, Columns: []Column{{Label: xLabel}, {Label: yLabel, Kind: Number}}}
	for i, p := range points {
		x, y := at(i, p.Value)
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(&line, "%s%.1f %.1f", verb, x, y)
		fmt.Fprintf(&dots, "M%.1f %.1fh0", x, y)
		table.Rows = append(table.Rows, Row{Cells: []any{p.Label, p.Value}})
	}
	first, last := points[0], points[len(points)-1]
	chart := &LineChart{
		ID: id, Title: title, Line: line.String(), Dots: dots.String(), Table: table,
		Low: FormatNumber(low), High: FormatNumber(high), First: first.Label, Last: last.Label,
		Description: fmt.Sprintf("%s: %s at %s, %s at %s.", title, FormatNumber(first.Value), first.Label, FormatNumber(last.Value), last.Label),
	}
	if len(points) > 1 {
		chart.Area = fmt.Sprintf("%sL%.1f %.1fL0 %.1fZ", chart.Line, chartWidth, chartHeight, chartHeight)
	}
	if target != nil {
		_, y := at(0, *target)
		chart.Target = fmt.Sprintf("M0 %.1fH%.1f", y, chartWidth)
		chart.TargetLabel = "Target " + FormatNumber(*target)
		chart.Description += " " + chart.TargetLabel + "."
	}
	return chart
}

// scale returns the range of all points and the target.
func scale(points []Point, target *float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range points {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	if target != nil {
		low, high = min(low, *target), max(high, *target)
	}
	if low == high {
		margin := max(1, math.Abs(low)/1e6) // adding 1 to a large float has no effect
		low, high = low-margin, high+margin
	}
	return low, high
}
