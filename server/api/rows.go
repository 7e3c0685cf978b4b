package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"govsvc/server/openapi"
)

// MaxRows bounds the rows that a form has for a member.
const MaxRows = 100

// longItem is the length in characters from which the items of an array are texts of
// their own. Shorter items share a field, one on each line.
const longItem = 5000

// RowColumns returns the columns of a member that a form shows as rows of fields: an
// array of objects or of long texts, or an object. It is nil for other members.
func RowColumns(f openapi.Field) []openapi.Field {
	switch {
	case f.Items != nil:
		return f.Items
	case f.Members != nil:
		return f.Members
	case f.Value != nil:
		value := *f.Value
		value.Name, value.Required = "value", true
		return []openapi.Field{{Name: "name", Type: "string", MaxLength: 200, Required: true}, value}
	case f.Item != nil && f.Item.MaxLength >= longItem:
		item := *f.Item
		item.Name, item.Required = "text", true
		return []openapi.Field{item}
	}
	return nil
}

// OneRow reports whether a member has exactly one row, because the document names its
// members.
func OneRow(f openapi.Field) bool { return f.Members != nil }

// rowsSent is the value of the field that says that the form has the rows of a member.
const rowsSent = "rows"

// RowField returns the name of the form's field for a column in a row.
func RowField(member string, row int, column string) string {
	return member + "." + strconv.Itoa(row) + "." + column
}

// FormRows returns the rows that a form sends for a member with RowColumns: the texts of
// each row by column. The names of the fields are those of RowField. A form also has a
// field with the name of the member, because all rows may be empty. Rows without any text
// and rows after MaxRows are left out.
func FormRows(f openapi.Field, values map[string][]string) [][]string {
	columns := RowColumns(f)
	var numbers []int
	for name := range values {
		rest, ok := strings.CutPrefix(name, f.Name+".")
		text, column, more := strings.Cut(rest, ".")
		n, err := strconv.Atoi(text)
		if ok && more && err == nil && n >= 0 && fieldOf(columns, column) >= 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	var rows [][]string
	for _, n := range slices.Compact(numbers) {
		row, empty := make([]string, len(columns)), true
		for i, column := range columns {
			if given := values[RowField(f.Name, n, column.Name)]; len(given) > 0 {
				row[i] = strings.TrimSpace(strings.ReplaceAll(given[len(given)-1], "\r\n", "\n"))
			}
			empty = empty && row[i] == ""
		}
		if !empty && len(rows) < MaxRows {
			rows = append(rows, row)
		}
	}
	return rows
}

// RowsOf returns the rows of a value of a member with RowColumns, as FormRows does. The
// rows of an object are ordered by name.
func RowsOf(f openapi.Field, value any) [][]string {
	columns := RowColumns(f)
	var rows [][]string
	cells := func(members map[string]any) []string {
		row := make([]string, len(columns))
		for i, column := range columns {
			row[i] = formText(members[column.Name])
		}
		return row
	}
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			members, isObject := item.(map[string]any)
			if !isObject {
				members = map[string]any{columns[0].Name: item}
			}
			rows = append(rows, cells(members))
		}
	case map[string]any:
		if OneRow(f) {
			return [][]string{cells(v)}
		}
		for _, name := range sortedNames(v) {
			rows = append(rows, []string{name, formText(v[name])})
		}
	}
	return rows
}

func sortedNames(members map[string]any) []string {
	var names []string
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// formText returns a plain value as a field of a form has it.
func formText(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// rowsValue converts the rows of a member to its value. It returns nil for an object
// that has no row and whose members the document names.
func rowsValue(f openapi.Field, columns []openapi.Field, rows [][]string) (any, *openapi.ValidationError) {
	switch {
	case OneRow(f) && len(rows) == 0:
		return nil, nil //nolint:nilnil // no value and no error
	case OneRow(f):
		return rowObject(columns, rows[0]), nil
	case f.Value != nil:
		return namedValues(f, columns[1], rows)
	}
	list := make([]any, len(rows))
	for i, row := range rows {
		if f.Items == nil {
			list[i] = row[0]
		} else {
			list[i] = rowObject(columns, row)
		}
	}
	return list, nil
}

func rowObject(columns []openapi.Field, row []string) map[string]any {
	object := map[string]any{}
	for i, column := range columns {
		if value, meant := formValue(column, row[i], nil); meant {
			object[column.Name] = value
		}
	}
	return object
}

// namedValues converts rows of a name and a value to an object.
func namedValues(f, column openapi.Field, rows [][]string) (any, *openapi.ValidationError) {
	object := map[string]any{}
	for i, row := range rows {
		refuse := func(column, message string) (any, *openapi.ValidationError) {
			return nil, &openapi.ValidationError{Param: fmt.Sprintf("%s[%d].%s", f.Name, i, column), Message: message}
		}
		value, meant := formValue(column, row[1], nil)
		switch _, twice := object[row[0]]; {
		case row[0] == "":
			return refuse("name", "name is required")
		case twice:
			return refuse("name", "name must be different in each row")
		case !meant:
			return refuse("value", "value is required")
		}
		object[row[0]] = value
	}
	return object, nil
}
