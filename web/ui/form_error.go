package ui

import (
	"regexp"
	"strconv"
	"strings"
)

// FieldError is an error in the summary above a form. It links to the field.
type FieldError struct{ ID, Message string }

// Errors returns the errors of all fields, in the order of the form.
func (f *Form) Errors() (all []FieldError) {
	for _, conflict := range f.Conflicts {
		all = append(all, FieldError{conflict.ID(), conflict.Label + ": choose a value"})
	}
	for _, field := range f.shown() {
		all = append(all, field.errors()...)
	}
	return all
}

// shown returns the fields in the order of the page.
func (f *Form) shown() []*Field {
	if f.Sections == nil {
		return f.Fields
	}
	var fields []*Field
	for _, section := range f.Sections {
		fields = append(fields, section.Fields...)
	}
	return fields
}

// errors returns the error of a field and those of the fields in its rows.
func (f *Field) errors() (all []FieldError) {
	if f.Error != "" {
		all = append(all, FieldError{f.ID(), f.Error})
	}
	for _, group := range f.Groups {
		for _, cell := range group.Fields {
			if cell.Error != "" {
				all = append(all, FieldError{cell.ID(), group.Label + ": " + cell.Error})
			}
		}
	}
	return all
}

// FieldErrors returns the number of fields with an error.
func (f *Form) FieldErrors() (n int) {
	for _, field := range f.Fields {
		n += len(field.errors())
	}
	return n
}

// SetError sets the error of the field that a parameter of the API names:
// frameworks_applied for frameworks_applied[1], or the field of a row for
// phases[1].objective. Without such a field, it sets the error of the form. The message
// speaks of labels, also where it names members.
func (f *Form) SetError(param, message string) {
	message = Sentence(message)
	field := f.find(param)
	if field == nil {
		f.Error = f.useLabels(message)
		return
	}
	for _, subject := range []string{param, field.Name} {
		if n := len(subject); n > 0 && n < len(message) && message[n] == ' ' && strings.EqualFold(message[:n], subject) {
			message = field.Label + message[n:]
			break
		}
	}
	message = strings.ReplaceAll(message, "this "+field.Name, "this value")
	field.Error = f.useLabels(message)
}

// find returns the field that a parameter of the API names, or nil.
func (f *Form) find(param string) *Field {
	name := param
	if end := strings.IndexAny(param, "[."); end >= 0 {
		name = param[:end]
	}
	field := f.Field(name)
	if field == nil || field.Type != "rows" {
		return field
	}
	if cell := field.cell(param[len(name):]); cell != nil {
		return cell
	}
	return field
}

// cell returns the field that the end of a parameter names: [1].objective and [1] name a
// row, .build a field of the only row, and ."NIST AI RMF" the value of the row with this
// name. It returns nil if there is none.
func (f *Field) cell(path string) *Field {
	column := func(row int, name string) *Field {
		if row < 0 || row >= len(f.Groups) {
			return nil
		}
		for _, cell := range f.Groups[row].Fields {
			if name == "" || strings.HasSuffix(cell.Name, "."+name) {
				return cell
			}
		}
		return nil
	}
	if index, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]"); ok && strings.HasPrefix(path, "[") {
		row, err := strconv.Atoi(index)
		if err != nil {
			return nil
		}
		return column(row, strings.TrimPrefix(rest, "."))
	}
	name := strings.TrimPrefix(path, ".")
	if plain, err := strconv.Unquote(name); err == nil {
		name = plain
	}
	for i, group := range f.Groups {
		if first := group.Fields[0]; strings.HasSuffix(first.Name, ".name") && first.Value == name {
			return column(i, "value")
		}
	}
	if name == "" {
		return nil
	}
	return column(0, name)
}

// formats replaces what the API says about the form of a value. Browsers send dates and
// times without a zone.
var formats = strings.NewReplacer(
	"an RFC 3339 timestamp such as 2026-09-12T08:30:00Z", "a date and a time, such as 2026-09-12T08:30",
	"a date (YYYY-MM-DD) or an RFC 3339 timestamp", "a date, such as 2026-09-12",
	"a date (YYYY-MM-DD)", "a date, such as 2026-09-12",
	"an integer", "a whole number",
	" or null", "",
)

var choices = regexp.MustCompile(`must be one of [^;]*$`)

// useLabels replaces the names of members by the labels of their fields. A name without
// an underscore can be a word of the message.
func (f *Form) useLabels(message string) string {
	for _, field := range f.Fields {
		if strings.Contains(field.Name, "_") {
			name := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(field.Name) + `\b`)
			message = name.ReplaceAllLiteralString(message, field.Label)
		}
	}
	message = choices.ReplaceAllLiteralString(message, "must be one of the choices.")
	return formats.Replace(message)
}
