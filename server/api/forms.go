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

// unasked are members of records that no form asks for.
var unasked = []string{"object", "id", "created_at", "updated_at", "api_version", "roadmap_id", "key_result_id"}

// FormFields returns the members that a form asks for: to create a record or, with
// changing, to change one. nil if Save does not do that.
func FormFields(document *openapi.Document, object string, changing bool) []openapi.Field {
	r := resource.Find(object)
	if r == nil || changing && !r.Editable || !changing && !r.Addable {
		return nil
	}
	var fields []openapi.Field
	switch {
	case r == resource.KPICheckin:
		fields = document.Fields(r.Create)[0].Items
	case r.Create == "":
		fields = document.Fields(object)
	case changing:
		return document.Fields(r.Update)
	default:
		return document.Fields(r.Create)
	}
	var asked []openapi.Field
	for _, f := range fields {
		fixed := changing && slices.Contains(document.RecordKey(object), f.Name)
		if !fixed && !slices.Contains(unasked, f.Name) {
			asked = append(asked, f)
		}
	}
	return asked
}

// FormBody makes the body of what a form sent, for Save or Submit. The values
// are those of a form's fields by name; the last of several counts.
//
// What is empty clears a member that may be null, and leaves out any other,
// unless current has a value there: then it is for the document to refuse. A
// field that the form does not have is left out. Where a check box may be
// unset, the form has a hidden field of the same name and "false" before it. An
// array's items stand on lines of their own or between semicolons. A timestamp
// without a zone, as a browser's date and time field sends it, is in UTC.
//
// current is the record that is changed, nil for a new one. What is as it was
// is left out, so that two people who change different members don't undo each
// other's work.
func FormBody(fields []openapi.Field, values map[string][]string, current Record) (map[string]any, error) {
	body := map[string]any{}
	var faults Faults
	for _, f := range fields {
		given := values[f.Name]
		if len(given) == 0 {
			continue
		}
		text := strings.ReplaceAll(given[len(given)-1], "\r\n", "\n")
		if !utf8.ValidString(text) {
			faults = append(faults, openapi.ValidationError{Param: f.Name, Message: f.Name + " must be valid UTF-8"})
			continue
		}
		value, meant := formValue(f, text, current[f.Name])
		if meant && (current == nil || !same(f, value, current[f.Name])) {
			body[f.Name] = value
		}
	}
	if faults != nil {
		return nil, faults
	}
	return body, nil
}

// formValue gives a text of a form the type of its field; what does not fit
// stays a text, which the document refuses in its own words.
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

// same tells whether a form left a value as it was; a timestamp of whole
// minutes stands for any in the minute.
func same(f openapi.Field, value, before any) bool {
	text, _ := value.(string)
	stored, _ := before.(string)
	if minute, whole := strings.CutSuffix(text, ":00Z"); whole && f.Format == "date-time" {
		return strings.HasPrefix(stored, minute+":")
	}
	return reflect.DeepEqual(value, before)
}

// Attainment is how much of its target the record of a key result has reached,
// from 0 to 1; nil before it has a value. See attainedShare.
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
