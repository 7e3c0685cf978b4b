package openapi

import (
	"regexp"
	"slices"
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
//
// It supports the keywords that the document uses, with the meaning of JSON Schema
// 2020-12. The exception is minLength, which counts characters after trimming
// white space, as the contract does. Formats are checked. Load refuses any other
// keyword.
type Schema struct {
	rule     *rule
	subject  string // starts messages about the whole value, e.g. "the body"
	interned internedStrings
}

// Members returns the names of the properties, sorted.
func (s *Schema) Members() []string {
	var names []string
	for _, p := range s.rule.target().properties {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return names
}

// internedStrings are the property names and enumerated values of the document,
// as strings in interfaces. Decoding them needs no allocation.
type internedStrings map[string]any

// jsonTypes is a set of JSON types.
type jsonTypes uint8

const (
	typeNull jsonTypes = 1 << iota
	typeBool
	typeNumber
	typeString
	typeArray
	typeObject
	typeInteger // together with typeNumber
)

// rule is one schema. A bound is absent if it is zero or nil.
type rule struct {
	ref        *rule
	types      jsonTypes // 0 for any
	constant   any       // const
	options    []string
	nullOption bool   // the enumeration has null
	expected   string // completes "must be", for example "a string" or "one of A, B"

	minLength, maxLength int
	pattern              *regexp.Regexp
	matcher              func(string) bool // replaces the pattern; nil for most
	format               func(string) bool

	minimum, maximum *float64

	minItems, maxItems int
	unique             bool
	items              *rule

	properties []property
	index      map[string]int // of properties, by name
	closed     bool
	additional *rule

	anyOf   []*rule
	oneOf   []*rule
	oneLine bool   // x-one-line: a text without line ends, those around it aside
	must    string // x-must: the message if anyOf or the pattern fails

	// for forms; see fields.go
	description, defaultText, formatName string
}

type property struct {
	name     string
	required bool
	rule     *rule // nil if the schema only requires it
}

// target follows references.
func (r *rule) target() *rule {
	for r.ref != nil {
		r = r.ref
	}
	return r
}
