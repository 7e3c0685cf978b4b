package api

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// unasked are members of records that no form asks for. The entries of a timeline are
// added by other operations, and never edited.
var unasked = []string{"object", "id", "created_at", "updated_at", "api_version", "roadmap_id", "key_result_id", "timeline"}

// FormFields returns the members that a form asks for: to create a record or, with
// changing, to change one. nil if Save does not do that. A change can set all members that
// an import can set, but those that identify the record.
func FormFields(document *openapi.Document, object string, changing bool) []openapi.Field {
	r := resource.Find(object)
	if r == nil || changing && !r.Editable || !changing && !r.Addable {
		return nil
	}
	var fields []openapi.Field
	switch {
	case r == resource.KPICheckin:
		fields = document.Fields(r.Create)[0].Items
	case changing:
		fields = changeable(document, r)
	case r.Create == "":
		fields = document.Fields(object)
	default:
		return document.Fields(r.Create)
	}
	var asked []openapi.Field
	for _, f := range fields {
		fixed := changing && r.Key != nil && slices.Contains(document.RecordKey(object), f.Name)
		if !fixed && !slices.Contains(unasked, f.Name) {
			asked = append(asked, f)
		}
	}
	return asked
}

// changeable returns the members that the operation can change, and then the others that
// an import can set.
func changeable(document *openapi.Document, r *resource.Resource) []openapi.Field {
	fields := slices.Clone(document.Fields(r.Update))
	for _, f := range document.Fields(r.Type) {
		if fieldOf(fields, f.Name) < 0 {
			fields = append(fields, f)
		}
	}
	return fields
}

// FormBody returns the request body for the values of a form, for Save or Submit. The
// values are keyed by field name; the last of several counts.
//
// An empty value clears a member that may be null. Any other member is left out if its
// value is empty, unless current has a value there: the document then refuses the empty
// value. A value without a field in the form is left out. If a check box may be unset,
// a hidden field of the same name with the value "false" comes before it. The items of
// an array are on separate lines or separated by semicolons. A timestamp without a
// zone, as a browser's date and time field sends it, is in UTC. A member with RowColumns
// is sent as FormRows describes.
//
// current is the record that is changed, nil for a new one. Unchanged values are left
// out. Two people who change different members therefore don't undo each other's work.
func FormBody(fields []openapi.Field, values map[string][]string, current Record) (map[string]any, error) {
	body := map[string]any{}
	var errs ValidationErrors
	for _, f := range fields {
		given := values[f.Name]
		if len(given) == 0 {
			continue
		}
		if columns := RowColumns(f); columns != nil {
			value, err := rowsValue(f, columns, FormRows(f, values))
			if err != nil {
				errs = append(errs, *err)
			} else if current == nil && value != nil || current != nil && !same(f, value, current[f.Name]) {
				body[f.Name] = value
			}
			continue
		}
		text := strings.ReplaceAll(given[len(given)-1], "\r\n", "\n")
		if !utf8.ValidString(text) {
			errs = append(errs, openapi.ValidationError{Param: f.Name, Message: f.Name + " must be valid UTF-8"})
			continue
		}
		value, meant := formValue(f, text, current[f.Name])
		if meant && (current == nil || !same(f, value, current[f.Name])) {
			body[f.Name] = value
		}
	}
	if errs != nil {
		return nil, errs
	}
	return body, nil
}

// FormValues returns the values that the form of a record sends if nothing is changed, by
// field name. A record that is nil has the defaults.
func FormValues(fields []openapi.Field, record Record) map[string][]string {
	values := map[string][]string{}
	for _, f := range fields {
		columns, value := RowColumns(f), record[f.Name]
		if columns == nil {
			text := fieldText(f, value)
			if record == nil {
				text = f.Default
			}
			values[f.Name] = []string{text}
			continue
		}
		values[f.Name] = []string{rowsSent}
		for i, row := range RowsOf(f, value) {
			for j, column := range columns {
				values[RowField(f.Name, i, column.Name)] = []string{row[j]}
			}
		}
	}
	return values
}

// minutes is the length of a timestamp in a browser's field.
const minutes = len("2006-01-02T15:04")

// fieldText returns a value as a field of a form has it.
func fieldText(f openapi.Field, value any) string {
	switch v := value.(type) {
	case nil:
		if f.Type == "boolean" {
			return "false"
		}
	case []any:
		lines := make([]string, len(v))
		for i, item := range v {
			lines[i] = formText(item)
		}
		return strings.Join(lines, "\n")
	case string:
		if f.Format == "date-time" && len(v) > minutes {
			return v[:minutes]
		}
	}
	return formText(value)
}

// formValue converts a text of a form to the type of its field. A text that cannot be
// converted stays a text, and the document refuses it with its message.
func formValue(f openapi.Field, text string, before any) (value any, meant bool) {
	plain := strings.TrimSpace(text)
	if plain == "" && f.Type != "array" {
		switch {
		case f.Nullable:
			return nil, true
		case before != nil:
			return text, true
		}
		return nil, false
	}
	switch f.Type {
	case "number", "integer":
		if jsonNumber.MatchString(plain) {
			return json.Number(plain), true
		}
	case "boolean":
		if plain == "true" || plain == "false" {
			return plain == "true", true
		}
	case "array":
		return items(text), true
	case "string":
		if f.Format == "date-time" {
			return withZone(plain), true
		}
	}
	return text, true
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func items(text string) []any {
	list := []any{}
	for item := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

var zoneless = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$`)

// withZone completes a timestamp as a browser's field sends it.
func withZone(text string) string {
	switch {
	case !zoneless.MatchString(text):
		return text
	case len(text) == len("2006-01-02T15:04"):
		return text + ":00Z"
	}
	return text + "Z"
}

// same reports whether a form left a value unchanged. A timestamp of whole minutes
// equals any timestamp in that minute.
func same(f openapi.Field, value, before any) bool {
	text, _ := value.(string)
	stored, _ := before.(string)
	if minute, whole := strings.CutSuffix(text, ":00Z"); whole && f.Format == "date-time" {
		return strings.HasPrefix(stored, minute+":")
	}
	return reflect.DeepEqual(value, before)
}

// Attainment returns how much of its target the record of a key result has reached,
// from 0 to 1, or nil before it has a value. See attainedShare.
func Attainment(kpi Record) *float64 {
	target, known := float(kpi["target_value"])
	if !known {
		return nil
	}
	var baseline, current *float64
	if value, known := float(kpi["baseline_value"]); known {
		baseline = &value
	}
	if value, known := float(kpi["current_value"]); known {
		current = &value
	}
	direction, _ := kpi["direction"].(string)
	share, known := attainedShare(direction, baseline, target, current)
	if !known {
		return nil
	}
	return &share
}

func float(value any) (float64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	return f, err == nil
}
