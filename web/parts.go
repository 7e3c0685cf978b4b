package web

// The structs here are what the shared blocks of templates/parts.html show:
// {{template "table" .Risks}}.

// Kinds of cells.
const (
	Plain   = ""        // text
	Badge   = "badge"   // a value of an enumeration, in its colour
	Time    = "time"    // an instant or a date
	Number  = "number"  // aligned to the right
	Percent = "percent" // a number of hundredths
	Code    = "code"    // an id or a key
	Long    = "long"    // text that may wrap
)

// Table is a table of any rows.
type Table struct {
	Caption string // says what the table holds; screen readers announce it
	Shown   bool   // the caption is shown, not only announced
	Columns []Column
	Rows    []Row
	Empty   Empty // shown where there are no rows
}

// Column is a column of a Table.
type Column struct {
	Label string
	Kind  string
	// Sort is the path that sorts the table by this column; "" if it can't be.
	Sort string
	// Sorted is "ascending" or "descending" where the table is sorted by it.
	Sorted string
}

// Row is a row of a Table.
type Row struct {
	Href  string // of the first cell; "" for none
	Under string // stands below the first cell: a key, an address
	Cells []any
	// Actions are forms or links at the end of the row.
	Actions []Action
}

// Cell is one cell as the block "cell" takes it.
type Cell struct {
	Column Column
	Value  any
	Href   string
	Under  string
}

// Cells pairs the row's values with their columns.
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

// Acts tells whether rows have actions.
func (t Table) Acts() bool {
	for _, row := range t.Rows {
		if len(row.Actions) > 0 {
			return true
		}
	}
	return false
}

// Action is a link, or with Post a form of one button.
type Action struct {
	Label   string
	Path    string
	Post    bool
	Primary bool // the one that most come to the page for
	Danger  bool
	// Ask is the question of a step that confirms it first; Post only.
	Ask    string
	About  string // what it acts on, for screen readers: "key reports"
	Hidden map[string]string
}

// Empty is what stands where there is nothing yet, and what to do next.
type Empty struct {
	Title  string
	Advice string
	Action *Action
}

// Pager leads through the pages of a list. "" is no such page.
type Pager struct {
	Previous, Next string // paths
	Shown          int    // rows on this page
	Total          int    // of all pages; 0 if it is not known
	More           bool   // Total is a lower bound
	One, Many      string // what is counted: "risk", "risks"
}

// Filters is the bar above a list: a form that is sent with GET.
type Filters struct {
	Action string   // the list's path
	Search *Field   // nil for none
	Fields []*Field // selects, or what their Type says
	Hidden map[string]string
	Active bool // some filter is set, so that there is something to clear
	// CSV is the path of the view as CSV; "" for none.
	CSV string
}

// Fact is a line of a list of facts about one thing.
type Fact struct {
	Label string
	Kind  string // of a cell
	Value any
	Href  string
}

// Column is the fact as a cell's column.
func (f Fact) Column() Column { return Column{Label: f.Label, Kind: f.Kind} }
