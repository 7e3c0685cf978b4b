package ui

// The kinds of cells.
const (
	PlainText = ""         // any text
	Badge     = "badge"    // value of an enumeration, with its colour
	Time      = "time"     // instant or date
	Clock     = "clock"    // Countdown
	Attained  = "attained" // Attainment
	Trend     = "trend"    // Sparkline
	Due       = "due"      // Deadline
	Number    = "number"   // aligned to the right
	Percent   = "percent"  // number from 0 to 100
	Code      = "code"     // id or key
	Long      = "long"     // text that wraps
)

// Table is the argument of the block "table".
type Table struct {
	Caption string // description of the content, for screen readers
	Shown   bool   // the caption is visible
	Columns []Column
	Rows    []Row
	Empty   Empty // replaces the table if there are no rows
	// Select is the id of the form that the check boxes of the rows belong to; "" for
	// a table without them.
	Select string
}

// Column is a column of a Table.
type Column struct {
	Label string
	Kind  string
	// Sort is the path of the list sorted by this column; "" if it cannot be sorted.
	Sort string
	// Sorted is "ascending" or "descending" if the list is sorted by this column.
	Sorted string
}

// Row is a row of a Table.
type Row struct {
	ID       string // value of the check box "id"
	Selected bool
	Href     string // link of the first cell; "" for none
	Under    string // second line of the first cell: a key, an address
	Cells    []any
	// Actions are at the end of the row.
	Actions []Action
}

// Cell is the argument of the block "cell".
type Cell struct {
	Column Column
	Value  any
	Href   string
	Under  string
}

// Cells returns the cells of a row with their columns.
func (t Table) Cells(row Row) []Cell {
	cells := make([]Cell, 0, len(t.Columns))
	for i, value := range row.Cells {
		cell := Cell{Column: t.Columns[i], Value: value}
		if i == 0 {
			cell.Href, cell.Under = row.Href, row.Under
		}
		cells = append(cells, cell)
	}
	return cells
}

// HasActions reports whether any row has actions.
func (t Table) HasActions() bool {
	for _, row := range t.Rows {
		if len(row.Actions) > 0 {
			return true
		}
	}
	return false
}
