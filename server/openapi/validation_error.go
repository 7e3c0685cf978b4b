package openapi

import (
	"strconv"
	"strings"
)

// ValidationError is one error of an input. Its message is for the caller. It names
// the member and what is valid, and never repeats the value.
type ValidationError struct {
	Param   string // e.g. "checkins[3].value"; "" means the complete input
	Message string
}

// Error returns the message.
func (e *ValidationError) Error() string { return e.Message }

// location is the path of a value inside another; nil means the outermost value.
type location struct {
	parent *location
	name   string // of a member of an object
	item   bool   // an item of an array instead
	index  int
}

// String returns the path as in messages, for example checkins[3].value.
func (p *location) String() string {
	if p == nil {
		return ""
	}
	return string(p.appendTo(nil))
}

func (p *location) appendTo(b []byte) []byte {
	if p.parent != nil {
		b = p.parent.appendTo(b)
	}
	if p.item {
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(p.index), 10)
		return append(b, ']')
	}
	if len(b) > 0 {
		b = append(b, '.')
	}
	return append(b, quotedName(p.name)...)
}

// quotedName quotes and shortens a member name that a caller made up: it may
// be of any length and hold any character.
func quotedName(name string) string {
	plain := name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
	if plain {
		return name
	}
	const most = 40
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most]) + "…"
	}
	return strconv.Quote(name)
}
