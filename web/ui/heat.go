package ui

import "slices"

// HeatMap is a table of counts by two scales, such as severity and likelihood.
type HeatMap struct {
	Columns []string // labels of the columns, lowest level first
	Rows    []HeatRow
}

// HeatRow is one level of the vertical scale.
type HeatRow struct {
	Label string
	Path  string // list of everything in the row; "" for none
	Cells []HeatCell
}

// HeatCell is the count of one pair of levels.
type HeatCell struct {
	Count       int
	Change      string // "+2"; "" for none
	Tone        string
	Path        string // list of what is counted; "" for none
	Description string // text for screen readers
}

// HeatTone returns the colour of a cell. rows lists the levels of the vertical
// scale, highest first; columns those of the horizontal one, lowest first. A
// level that is not in its scale is neutral.
func HeatTone(rows, columns []string, row, column string) string {
	y, x := slices.Index(rows, row), slices.Index(columns, column)
	if y < 0 || x < 0 {
		return "neutral"
	}
	switch product := (len(rows) - y) * (x + 1); {
	case product >= 12:
		return "critical"
	case product >= 8:
		return "high"
	case product >= 3:
		return "medium"
	}
	return "good"
}
