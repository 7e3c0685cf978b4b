package transfer

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"govsvc/db/resource"
)

// header is the head of a column.
type header struct {
	name string
	// passed over: what is wrong with the name is told of the header
	passed bool
}

// layout is the columns of a type, in the order of the header.
type layout struct {
	resource *resourceSchema
	columns  []*column // nil: not a member
	missing  []string  // required, and not in the header
}

// readHeader reads the names of the columns and says what is wrong with them.
func (t *table) readHeader() error {
	err := t.read()
	t.at = t.line
	switch {
	case errors.Is(err, io.EOF):
		t.at, t.over = 1, true
		return refusal("the source is empty: its first row must hold the names of the columns")
	case err != nil:
		t.over = true
		return err
	}
	f := &flawed{}
	known := t.readNames(f)
	switch {
	case t.object == "" && t.types < 0:
		t.over = true
		return refusal("the header has no column object: say which type the rows are of (--type)" + notRead)
	case known == 0:
		t.over = true
		return refusal("the first row must hold the names of the columns: " + strings.Join(Columns(t.schemas.document, t.object), ", ") + notRead)
	case t.object != "":
		l := t.layoutOf(t.schemas.find([]byte(t.object)))
		for _, name := range l.missing {
			f.add(name, noColumn(t.object))
		}
	}
	return f.orNil()
}

func noColumn(object string) string {
	return "is required, and the header has no such column: a record of type " + object + " needs it"
}

// readNames takes the names from the header's cells; known are those that are
// members.
func (t *table) readNames(f *flawed) (known int) {
	t.header = make([]header, len(t.cells.ends))
	seen := map[string]bool{}
	for i := range t.header {
		name := shortened(string(bytes.TrimSpace(t.cells.cell(i))))
		t.header[i].name = name
		switch {
		case name == "":
			continue
		case seen[name]:
			f.add(name, "is a column twice")
			t.header[i].passed = true
		case !t.isMember(name):
			f.add(name, t.noMember())
			t.header[i].passed = true
		default:
			known++
		}
		seen[name] = true
		if name == "object" && t.types < 0 {
			t.types = i
		}
	}
	return known
}

// shortened bounds a name that is none of ours.
func shortened(name string) string {
	const most = 60
	if utf8.RuneCountInString(name) <= most {
		return strings.ToValidUTF8(name, "\ufffd")
	}
	return strings.ToValidUTF8(string([]rune(name)[:most]), "\ufffd") + "…"
}

// isMember tells whether a column may be one: of the type or of any type.
func (t *table) isMember(name string) bool {
	if t.object != "" {
		return t.schemas.find([]byte(t.object)).column(name) != nil
	}
	return slices.ContainsFunc(resource.Types(), func(object string) bool {
		return t.schemas.find([]byte(object)).column(name) != nil
	})
}

func (t *table) noMember() string {
	if t.object == "" {
		return "is not a member of any type"
	}
	return "is not a member of type " + t.object + ", which has " + strings.Join(Columns(t.schemas.document, t.object), ", ")
}

// layout finds the columns of the row's type; nil if there is no such type.
func (t *table) layout() (*layout, error) {
	name := []byte(t.object)
	if t.object == "" {
		if t.types >= len(t.cells.ends) {
			return nil, nil //nolint:nilnil // the row is too short, which is told of it
		}
		name = bytes.TrimSpace(t.cells.cell(t.types))
	}
	r := t.schemas.find(name)
	if r == nil {
		return nil, nil //nolint:nilnil // see above
	}
	if known := t.layouts[r.Type]; known != nil {
		return known, nil
	}
	l, f := t.layoutOf(r), &flawed{}
	for _, name := range l.missing {
		f.add(name, noColumn(r.Type))
	}
	return l, f.orNil()
}

func (t *table) layoutOf(r *resourceSchema) *layout {
	l := &layout{resource: r, columns: make([]*column, len(t.header))}
	for i, h := range t.header {
		if !h.passed && i != t.types {
			l.columns[i] = r.column(h.name)
		}
	}
	for i := range r.columns() {
		if c := &r.columns()[i]; c.Required && c.Name != "object" && !slices.Contains(l.columns, c) {
			l.missing = append(l.missing, c.Name)
		}
	}
	t.layouts[r.Type] = l
	return l
}
