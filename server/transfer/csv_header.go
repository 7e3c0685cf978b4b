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

// columnHead is the header of a column.
type columnHead struct {
	name string
	// skip ignores the column, whose name is reported as an error of the header
	skip bool
}

// layout has the columns of a type in the order of the header.
type layout struct {
	resource *resourceSchema
	columns  []*column // nil: not a member
	missing  []string  // required members that are not in the header
}

// readHeader reads the names of the columns and returns what is wrong with them.
func (r *csvRecords) readHeader() error {
	err := r.read()
	r.headerLine = r.line
	switch {
	case errors.Is(err, io.EOF):
		r.headerLine, r.done = 1, true
		return sourceError("the source is empty: its first row must contain the names of the columns")
	case err != nil:
		r.done = true
		return err
	}
	errs := &rowError{}
	known := r.readNames(errs)
	switch {
	case r.object == "" && r.typeColumn < 0:
		r.done = true
		return sourceError("the header has no column object: say which type the rows are of (--type)" + notRead)
	case known == 0:
		r.done = true
		return sourceError("the first row must contain the names of the columns: " + strings.Join(Columns(r.schemas.document, r.object), ", ") + notRead)
	case r.object != "":
		l := r.layoutOf(r.schemas.find([]byte(r.object)))
		for _, name := range l.missing {
			errs.add(name, noColumn(r.object))
		}
	}
	return errs.orNil()
}

func noColumn(object string) string {
	return "is required, and the header has no such column: a record of type " + object + " needs it"
}

// readNames reads the names in the header and returns how many are members.
func (r *csvRecords) readNames(errs *rowError) (known int) {
	r.header = make([]columnHead, len(r.csv.ends))
	seen := map[string]bool{}
	for i := range r.header {
		name := shortened(string(bytes.TrimSpace(r.csv.cell(i))))
		r.header[i].name = name
		switch {
		case name == "":
			continue
		case seen[name]:
			errs.add(name, "is a column twice")
			r.header[i].skip = true
		case !r.isMember(name):
			errs.add(name, r.noMember())
			r.header[i].skip = true
		default:
			known++
		}
		seen[name] = true
		if name == "object" && r.typeColumn < 0 {
			r.typeColumn = i
		}
	}
	return known
}

// shortened shortens an unknown name for a message.
func shortened(name string) string {
	const most = 60
	if utf8.RuneCountInString(name) <= most {
		return strings.ToValidUTF8(name, "\ufffd")
	}
	return strings.ToValidUTF8(string([]rune(name)[:most]), "\ufffd") + "…"
}

// isMember reports whether the type, or any type if none is given, has a member.
func (r *csvRecords) isMember(name string) bool {
	if r.object != "" {
		return r.schemas.find([]byte(r.object)).column(name) != nil
	}
	return slices.ContainsFunc(resource.Types(), func(object string) bool {
		return r.schemas.find([]byte(object)).column(name) != nil
	})
}

func (r *csvRecords) noMember() string {
	if r.object == "" {
		return "is not a member of any type"
	}
	return "is not a member of type " + r.object + ", which has " + strings.Join(Columns(r.schemas.document, r.object), ", ")
}

// layout finds the columns of the row's type; nil if there is no such type.
func (r *csvRecords) layout() (*layout, error) {
	name := []byte(r.object)
	if r.object == "" {
		if r.typeColumn >= len(r.csv.ends) {
			return nil, nil //nolint:nilnil // the row is too short, which row reports
		}
		name = bytes.TrimSpace(r.csv.cell(r.typeColumn))
	}
	of := r.schemas.find(name)
	if of == nil {
		return nil, nil //nolint:nilnil // see above
	}
	if known := r.layouts[of.Type]; known != nil {
		return known, nil
	}
	l, errs := r.layoutOf(of), &rowError{}
	for _, name := range l.missing {
		errs.add(name, noColumn(of.Type))
	}
	return l, errs.orNil()
}

func (r *csvRecords) layoutOf(of *resourceSchema) *layout {
	l := &layout{resource: of, columns: make([]*column, len(r.header))}
	for i, h := range r.header {
		if !h.skip && i != r.typeColumn {
			l.columns[i] = of.column(h.name)
		}
	}
	for i := range of.columns() {
		if c := &of.columns()[i]; c.Required && c.Name != "object" && !slices.Contains(l.columns, c) {
			l.missing = append(l.missing, c.Name)
		}
	}
	r.layouts[of.Type] = l
	return l
}
