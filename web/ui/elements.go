package ui

// Action is the argument of the block "action": a link, or with Post a form that
// consists of one button.
type Action struct {
	Label   string
	Path    string
	Post    bool
	Primary bool // the main action of the page
	Danger  bool
	// Ask is the text of a confirmation step. It takes effect with Post only.
	Ask    string
	About  string // object of the action, for screen readers: "key reports"
	Hidden map[string]string
}

// Empty is the argument of the block "empty": the text of an empty list, with the
// first action.
type Empty struct {
	Title  string
	Advice string
	Action *Action
}

// Fact is one line of the block "facts".
type Fact struct {
	Label string
	Kind  string // kind of cell
	Value any
	Href  string
}

// Column returns the column that the block "cell" needs.
func (f Fact) Column() Column { return Column{Label: f.Label, Kind: f.Kind} }

// Link is a link of the navigation, of tabs or of breadcrumbs. Here marks the
// current page and its ancestors.
type Link struct {
	Label, Path string
	Here        bool
}

// Tile is a figure at the top of a page.
type Tile struct {
	Label, Path string
	Value       string
}
