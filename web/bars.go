package web

import (
	"fmt"
	"slices"
	"strings"
)

// stack is a bar of parts that together are the whole.
type stack struct {
	ID          string // of its title, once a page
	Label, Path string
	Note        string
	Says        string // what the picture shows, for screen readers
	Parts       []part
}

// part is one part of a stack, or the one of a plain bar.
type part struct {
	Label    string
	Tone     string
	Count    int
	X, Width string // in a box of 1000 by 10
}

const (
	barWidth = 1000.0
	barGap   = 4.0
)

// stacked lays parts side by side. whole is how much the full width stands for.
func stacked(id, label, path string, parts []part, whole int) stack {
	s := stack{ID: id, Label: label, Path: path}
	var said []string
	x := 0.0
	for _, p := range parts {
		if p.Count == 0 || whole <= 0 {
			continue
		}
		width := barWidth * float64(p.Count) / float64(whole)
		p.X, p.Width = fmt.Sprintf("%.1f", x), fmt.Sprintf("%.1f", max(width-barGap, barGap))
		x += width
		s.Parts = append(s.Parts, p)
		said = append(said, fmt.Sprintf("%s %s", number(p.Count), strings.ToLower(p.Label)))
	}
	if len(said) == 0 {
		said = []string{"nothing"}
	}
	s.Says = fmt.Sprintf("%s: %s.", label, strings.Join(said, ", "))
	return s
}

// legend names the parts that occur in any of the stacks, in their order.
func legend(all []part, stacks []stack) []part {
	return slices.DeleteFunc(slices.Clone(all), func(p part) bool {
		return !slices.ContainsFunc(stacks, func(s stack) bool {
			return slices.ContainsFunc(s.Parts, func(q part) bool { return q.Label == p.Label })
		})
	})
}
