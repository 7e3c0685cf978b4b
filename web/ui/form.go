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
}

// Field is the argument of the block "field".
type Field struct {
	Name  string
	Label string
	// Prefix keeps the HTML ids unique where two forms of a page have a field of
	// the same name.
	Prefix string
	// Type is the type of an input, "text" by default, or "textarea", "select",
	// "checks" or "switch".
	Type         string
	Value        string
	Values       []string // of checks
	Options      []Option // of select and checks
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

// Field returns the field with a name, or nil.
func (f *Form) Field(name string) *Field {
	for _, field := range f.Fields {
		if field.Name == name {
			return field
		}
	}
	return nil
}

// FieldErrors returns the number of fields with an error.
func (f *Form) FieldErrors() (n int) {
	for _, field := range f.Fields {
		if field.Error != "" {
			n++
		}
	}
	return n
}

// Fill sets the fields to the sent values, so that a refused form keeps what was
// typed. Passwords and files are never sent back.
func (f *Form) Fill(sent url.Values) *Form {
	for _, field := range f.Fields {
		switch field.Type {
		case "password", "file":
		case "checks":
			field.Values = sent[field.Name]
		default:
			field.Value = sent.Get(field.Name)
		}
	}
	return f
}

// SetError sets the error of the field with a name. Without such a field, it
// sets the error of the form.
func (f *Form) SetError(name, message string) {
	if field := f.Field(name); field != nil {
		field.Error = message
		return
	}
	f.Error = message
}

// FieldName returns the field that an error of the API is about:
// frameworks_applied for the parameter frameworks_applied[1].
func FieldName(param string) string {
	name, _, _ := strings.Cut(param, "[")
	return name
}

// FormPage is the argument of the template "form-page": a page with one form.
type FormPage struct {
	Title  string
	Crumbs []Link
	Notice string
	Form   *Form
}
