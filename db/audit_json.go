package db

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// encode returns the text of an event that is stored, served and hashed. An
// import writes one for each record, so the changes, which are most of it, are
// not encoded by reflection.
func (e auditEvent) encode() []byte {
	metadata := e.Metadata
	e.Metadata = nil // the last member
	text := []byte(compact(e))
	if len(metadata) == 0 {
		return text
	}
	text = append(text[:len(text)-1], `,"metadata":{`...)
	for i, name := range sortedKeys(metadata) {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(appendText(text, name), ':')
		if changes, ok := metadata[name].(Changes); ok {
			text = changes.appendJSON(text)
			continue
		}
		text = appendValue(text, metadata[name])
	}
	return append(text, "}}"...)
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
