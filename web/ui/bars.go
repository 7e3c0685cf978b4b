package ui

import (
	"fmt"
	"slices"
	"strings"
)

// StackedBar is a horizontal bar that is divided into parts.
type StackedBar struct {
	ID          string // HTML id of its title, unique in the page
	Label, Path string
	Note        string
	Overdue     int    // how many of what is counted are overdue
	NextDue     string // the next due date; "" for none
	Description string // text for screen readers
	Parts       []BarPart
}

// BarPart is one part of a StackedBar, or a plain bar.
type BarPart struct {
	Label    string
	Tone     string
	Count    int
	X, Width string // in a view box of 1000 by 10
}

const (
	barWidth = 1000.0
	barGap   = 4.0
)

// NewBar returns a plain bar that fills a share, from 0 to 1, of the width.
func NewBar(tone string, share float64) BarPart {
	return BarPart{Tone: tone, Width: Text(barWidth * share)}
}

// NewStackedBar places the parts side by side. total is the count that fills the
// full width.
func NewStackedBar(id, label, path string, parts []BarPart, total int) StackedBar {
	s := StackedBar{ID: id, Label: label, Path: path}
	var counts []string
	x := 0.0
	for _, p := range parts {
		if p.Count == 0 || total <= 0 {
			continue
		}
		width := barWidth * float64(p.Count) / float64(total)
		p.X, p.Width = fmt.Sprintf("%.1f", x), fmt.Sprintf("%.1f", max(width-barGap, barGap))
		x += width
		s.Parts = append(s.Parts, p)
		counts = append(counts, fmt.Sprintf("%s %s", FormatNumber(p.Count), strings.ToLower(p.Label)))
	}
	if len(counts) == 0 {
		counts = []string{"nothing"}
	}
	s.Description = fmt.Sprintf("%s: %s.", label, strings.Join(counts, ", "))
	return s
}

// Legend returns the parts that occur in at least one of the bars.
func Legend(all []BarPart, bars []StackedBar) []BarPart {
	return slices.DeleteFunc(slices.Clone(all), func(p BarPart) bool {
		return !slices.ContainsFunc(bars, func(s StackedBar) bool {
			return slices.ContainsFunc(s.Parts, func(q BarPart) bool { return q.Label == p.Label })
		})
	})
}
