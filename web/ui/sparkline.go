package ui

import (
	"fmt"
	"math"
	"strings"
)

// Sparkline is the value of a cell of the kind Trend: a small line without axes. The
// last value and the target are marked. Its text is for screen readers.
type Sparkline struct {
	Path        string // SVG path in a view box of 100 by 24
	X, Y        string // of the last value
	Target      string // height of the target; "" without one
	Description string
}

// The view box of sparklines, and the margin around the line.
const (
	sparkWidth  = 100.0
	sparkHeight = 24.0
	sparkMargin = 3.0
)

// NewSparkline draws values in their order, and a target unless it is nil. It returns an
// empty Sparkline for fewer than two values.
func NewSparkline(values []float64, target *float64) Sparkline {
	if len(values) < 2 {
		return Sparkline{}
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if target != nil {
		low, high = min(low, *target), max(high, *target)
	}
	if low == high {
		low, high = low-1, high+1
	}
	y := func(v float64) string { // halves don't overflow
		share := 0.5
		if extent := high/2 - low/2; extent > 0 {
			share = (v/2 - low/2) / extent
		}
		return fmt.Sprintf("%.1f", sparkHeight-sparkMargin-share*(sparkHeight-2*sparkMargin))
	}
	x := func(i int) string {
		return fmt.Sprintf("%.1f", sparkMargin+(sparkWidth-2*sparkMargin)*float64(i)/float64(len(values)-1))
	}
	var path strings.Builder
	for i, v := range values {
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		path.WriteString(verb + x(i) + " " + y(v))
	}
	last := values[len(values)-1]
	s := Sparkline{
		Path: path.String(), X: x(len(values) - 1), Y: y(last),
		Description: fmt.Sprintf("%d values, from %s to %s", len(values), FormatNumber(values[0]), FormatNumber(last)),
	}
	if target != nil {
		s.Target = y(*target)
	}
	return s
}

// String returns the description, and "" for a Sparkline without a line.
func (s Sparkline) String() string { return s.Description }

// Attainment is the value of a cell of the kind Attained: a bar with its percentage.
type Attainment struct {
	Bar  BarPart
	Text string
}

// NewAttainment returns the bar of a share from 0 to 1. The percentage is rounded down,
// so that 100 % means that the target is reached.
func NewAttainment(tone string, share float64) Attainment {
	return Attainment{Bar: NewBar(tone, share), Text: FormatPercent(math.Floor(share*100 + 1e-9))}
}

// String returns the percentage, and "" without one.
func (a Attainment) String() string { return a.Text }
