package cmd

import (
	"strings"

	"github.com/spf13/pflag"
)

// alike tells whether one may have been typed for the other.
func alike(typed, name string) bool {
	if len(typed) < 2 {
		return false
	}
	few := 1
	if len(typed) > 4 {
		few = 2
	}
	return strings.HasPrefix(name, typed) || distance(typed, name) <= few
}

// distance is Levenshtein's: how many letters to add, drop or change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// nearest is the flag whose name is the most like a text; "" if none is.
func nearest(text string, flags map[string][]*pflag.Flag) string {
	best, least := "", max(len(text)/3, 2)+1
	for name := range flags {
		d := distance(text, name)
		if !oneShot[name] && (d < least || d == least && best != "" && name < best) {
			best, least = name, d
		}
	}
	return best
}
