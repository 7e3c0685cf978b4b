package audit

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendJSON appends the JSON of an event, the same as encoding/json. An import writes an
// event for each record, so that the members of every event are encoded without
// reflection.
func (e *Entry) AppendJSON(to []byte) []byte {
	member := func(name, value string) {
		to = AppendText(append(append(append(to, ",\""...), name...), "\":"...), value)
	}
	orNull := func(name string, value *string) {
		if value == nil {
			to = append(append(append(to, ",\""...), name...), "\":null"...)
			return
		}
		member(name, *value)
	}
	to = AppendText(append(to, `{"object":`...), e.Object)
	member("id", e.ID)
	member("time", e.Time)
	member("actor", e.Actor)
	member("action", e.Action)
	member("category", string(e.Category))
	orNull("resource_type", e.ResourceType)
	orNull("resource_id", e.ResourceID)
	to = strconv.AppendInt(append(to, `,"severity":`...), int64(e.Severity), 10)
	if len(e.Metadata) > 0 {
		to = e.Metadata.AppendJSON(append(to, `,"metadata":`...))
	}
	return append(to, '}')
}

// AppendJSON appends the metadata in the order of the names.
func (m Metadata) AppendJSON(to []byte) []byte {
	to = append(to, '{')
	var buffer [16]string
	for i, name := range sortedNames(m, buffer[:0]) {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(AppendText(to, name), ':')
		if changes, ok := m[name].(Changes); ok {
			to = changes.AppendJSON(to)
			continue
		}
		to = AppendValue(to, m[name])
	}
	return append(to, '}')
}

// AppendJSON appends the changes in the order of the members.
func (c Changes) AppendJSON(to []byte) []byte {
	var buffer [32]string
	to = append(to, '{')
	for i, name := range sortedNames(c, buffer[:0]) {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(AppendText(to, name), `:{"from":`...)
		to = append(AppendValue(to, c[name].From), `,"to":`...)
		to = append(AppendValue(to, c[name].To), '}')
	}
	return append(to, '}')
}

// AppendValue appends a value as encoding/json does, without reflection for the
// types that columns have.
func AppendValue(to []byte, value any) []byte {
	switch value := value.(type) {
	case nil:
		return append(to, "null"...)
	case string:
		return AppendText(to, value)
	case bool:
		return strconv.AppendBool(to, value)
	case int64:
		return strconv.AppendInt(to, value, 10)
	case float64:
		if size := math.Abs(value); size >= 1e-6 && size < 1e21 { // encoding/json writes others with an exponent
			return strconv.AppendFloat(to, value, 'f', -1, 64)
		}
	case json.RawMessage:
		return append(to, value...)
	}
	return append(to, encode(value)...)
}

// AppendText appends a text as encoding/json does without escapes for HTML.
func AppendText(to []byte, text string) []byte {
	if !utf8.ValidString(text) {
		return append(to, encode(text)...)
	}
	to, _ = jsontext.AppendQuote(to, text) // its only error is for invalid UTF-8
	return to
}

// sortedNames appends the names of a map in order.
func sortedNames[V any](m map[string]V, names []string) []string {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// encode returns the JSON of a value that encoding/json can encode, without escapes
// for HTML.
func encode(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(text.String(), "\n")
}
