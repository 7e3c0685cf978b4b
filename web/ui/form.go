// Package ui holds the parts that the dashboard's pages are made of: forms,
// tables, charts, and the formatting of values for people. It depends on no page, store
// or session.
//
// Each struct is the argument of a block of web/templates/parts.html:
// {{template "table" .Risks}} renders a Table.
package ui

import (
	"net/url"
	"slices"
	"strings"
)

// Form is the argument of the block "form".
type Form struct {
	Action  string // path that receives the form
	Submit  string // label of the button
	Danger  bool   // the button cannot be undone
	Cancel  string // path to go back to; "" for none
	Error   string // error that belongs to no field
	Fields  []*Field
	Hidden  map[string]string
	Uploads bool // the form has files
	// Carried holds further hidden values. A name can have several.
	Carried url.Values
	// Sections groups Fields; nil shows all in their order.
	Sections []Section
	// Conflicts are fields that someone else has changed in the meantime.
	Conflicts []*Conflict
}

// Section is a part of a form.
type Section struct {
	Title  string // "" for the first
	Folded bool   // the section is closed at first
	Fields []*Field
}

// Open reports whether a folded section is open: it has an error or needs a value.
func (s Section) Open() bool {
	return slices.ContainsFunc(s.Fields, func(f *Field) bool {
		return len(f.errors()) > 0 || f.Required && f.Value == "" && f.Type != "rows"
	})
}

// Conflict is a field that the user and someone else have changed. The user chooses one
// of the two values.
type Conflict struct {
	Name, Label  string
	Mine, Theirs string // "" is no value
	By           string // who saved the other value, or "" if that is not known
	At           any    // when
	Choice       string // "mine", "theirs" or ""
}

// ID returns the HTML id of the choice, which is also its name.
func (c *Conflict) ID() string { return "keep-" + c.Name }

// Field is the argument of the block "field".
type Field struct {
	Name  string
	Label string
	// Prefix keeps the HTML ids unique where two forms of a page have a field of
	// the same name.
	Prefix string
	// Type is the type of an input, "text" by default, or "textarea", "select",
	// "checks", "switch" or "rows".
	Type         string
	Groups       []Group // of rows
	CanAdd       bool    // rows can be added
	Value        string
	Values       []string // of checks
	Options      []Option // of select and checks
	Blank        string   // label of no choice in a filter; "All" by default
	Hint         string
	Error        string
	Required     bool
	Autofocus    bool
	MinLength    int
	MaxLength    int
	Rows         int    // of a textarea; 4 by default
	Autocomplete string // value of the HTML attribute; "off" by default
	InputMode    string
	Step         string // of numbers
	Accept       string // of files
	Multiple     bool   // of files
}

// Group is a row of fields.
type Group struct {
	Label  string
	Fields []*Field
}

// Option is a choice of a field.
type Option struct{ Value, Label, Hint string }

// Options makes choices whose labels are derived from their values.
func Options[T ~string](values ...T) []Option {
	list := make([]Option, len(values))
	for i, value := range values {
		list[i] = Option{Value: string(value), Label: Humanize(string(value))}
	}
	return list
}

// Chosen reports whether an option is chosen.
func (f *Field) Chosen(value string) bool {
	return f.Value == value || slices.Contains(f.Values, value)
}

// ID returns the HTML id of the field.
func (f *Field) ID() string { return "f-" + f.Prefix + f.Name }

// DescribedBy returns the value of aria-describedby: the ids of the hint and the
// error.
func (f *Field) DescribedBy() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.ID()+"-error")
	}
	return strings.Join(ids, " ")
}

// HasRows reports whether the form has buttons that add a row.
func (f *Form) HasRows() bool {
	return slices.ContainsFunc(f.Fields, func(field *Field) bool { return field.CanAdd })
}

// Field returns the field with a name, or nil.
func (f *Form) Field(name string) *Field {
	for _, field := range f.Fields {
		if field.Name == name {
			return field
		}
	}
	return nil
}

// Fill sets the fields to the sent values, so that a refused form keeps what was
// typed. Passwords and files are never sent back.
func (f *Form) Fill(sent url.Values) *Form {
	for _, field := range f.Fields {
		switch field.Type {
		case "password", "file", "rows":
		case "checks":
			field.Values = sent[field.Name]
		default:
			field.Value = sent.Get(field.Name)
		}
	}
	return f
}

// FormPage is the argument of the template "form-page": a page with one form.
type FormPage struct {
	Title  string
	Crumbs []Link
	Notice string
	Form   *Form
}
