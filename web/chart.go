package web

import (
	"fmt"
	"math"
	"strings"
)

// Point is one value of a series.
type Point struct {
	Label string // when or what: "Q3 2026", or a date
	Value float64
}

// LineChart is a series as the block "line" draws it: a picture that says in
// words what it shows, and a table for those who can't see it. Its words stand
// beside the drawing, so that they keep their size when it is narrow.
type LineChart struct {
	ID, Title   string
	Says        string // what the picture shows, for screen readers
	Line, Area  string // paths in a box of 600 by 160
	Dots        string
	Target      string // a path; "" without a target
	Low, High   string // the ends of the scale
	First, Last string // the labels of the first and the last point
	TargetSays  string
	Table       Table
}

// The box that charts are drawn in, and the free space at its top and bottom.
const (
	chartWidth  = 600.0
	chartHeight = 160.0
	chartMargin = 10.0
)

// lineChart draws points in their order, with a target if that is not nil.
// what names the column of labels and value that of values. It is nil for no
// points at all.
func lineChart(id, title, what, value string, points []Point, target *float64) *LineChart {
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
	table := Table{Caption: title, Columns: []Column{{Label: what}, {Label: value, Kind: Number}}}
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
		Low: number(low), High: number(high), First: first.Label, Last: last.Label,
		Says: fmt.Sprintf("%s: %s at %s, %s at %s.", title, number(first.Value), first.Label, number(last.Value), last.Label),
	}
	if len(points) > 1 {
		chart.Area = fmt.Sprintf("%sL%.1f %.1fL0 %.1fZ", chart.Line, chartWidth, chartHeight, chartHeight)
	}
	if target != nil {
		_, y := at(0, *target)
		chart.Target = fmt.Sprintf("M0 %.1fH%.1f", y, chartWidth)
		chart.TargetSays = "Target " + number(*target)
		chart.Says += " " + chart.TargetSays + "."
	}
	return chart
}

// scale is the range that holds all points and the target.
func scale(points []Point, target *float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range points {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	if target != nil {
		low, high = min(low, *target), max(high, *target)
	}
	if low == high {
		room := max(1, math.Abs(low)/1e6) // to a large number 1 more is the same
		low, high = low-room, high+room
	}
	return low, high
}
