package db

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// appendJSON appends the text of an event that is stored, served and hashed, as
// encoding/json writes the struct. An import writes one for each record, so
// nothing that each event has is encoded by reflection.
func (e *auditEvent) appendJSON(to []byte) []byte {
	member := func(name, value string) {
		to = appendText(append(append(append(to, ",\""...), name...), "\":"...), value)
	}
	orNull := func(name string, value *string) {
		if value == nil {
			to = append(append(append(to, ",\""...), name...), "\":null"...)
			return
		}
		member(name, *value)
	}
	to = appendText(append(to, `{"object":`...), e.Object)
	member("id", e.ID)
	member("time", e.Time)
	member("actor", e.Actor)
	member("action", e.Action)
	member("category", string(e.Category))
	orNull("resource_type", e.ResourceType)
	orNull("resource_id", e.ResourceID)
	to = strconv.AppendInt(append(to, `,"severity":`...), int64(e.Severity), 10)
	if len(e.Metadata) > 0 {
		to = e.Metadata.appendJSON(append(to, `,"metadata":`...))
	}
	return append(to, '}')
}

// appendJSON appends the metadata by name.
func (m Metadata) appendJSON(to []byte) []byte {
	to = append(to, '{')
	for i, name := range sortedKeys(m) {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendText(to, name), ':')
		if changes, ok := m[name].(Changes); ok {
			to = changes.appendJSON(to)
			continue
		}
		to = appendValue(to, m[name])
	}
	return append(to, '}')
}

// appendJSON appends the changes by name.
func (c Changes) appendJSON(to []byte) []byte {
	var room [32]string
	names := room[:0]
	for name := range c {
		names = append(names, name)
	}
	slices.Sort(names)
	to = append(to, '{')
	for i, name := range names {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendText(to, name), `:{"from":`...)
		to = append(appendValue(to, c[name].From), `,"to":`...)
		to = append(appendValue(to, c[name].To), '}')
	}
	return append(to, '}')
}

// appendValue appends a value as encoding/json does, without a detour for the
// types that columns have.
func appendValue(to []byte, value any) []byte {
	switch value := value.(type) {
	case nil:
		return append(to, "null"...)
	case string:
		return appendText(to, value)
	case bool:
		return strconv.AppendBool(to, value)
	case int64:
		return strconv.AppendInt(to, value, 10)
	case float64:
		if size := math.Abs(value); size >= 1e-6 && size < 1e21 { // encoding/json gives others an exponent
			return strconv.AppendFloat(to, value, 'f', -1, 64)
		}
	case json.RawMessage:
		return append(to, value...)
	}
	return append(to, compact(value)...)
}

func appendText(to []byte, text string) []byte {
	if !utf8.ValidString(text) {
		return append(to, compact(text)...)
	}
	to, _ = jsontext.AppendQuote(to, text) // its only error is for what is not UTF-8
	return to
}
