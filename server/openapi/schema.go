package openapi

import (
	"regexp"
	"slices"
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
//
// The keywords are those that the document uses, with the meaning of JSON
// Schema 2020-12 but for minLength, which counts characters after trimming
// white space, as the contract does. Formats are checked. Load refuses a
// keyword that is not among them.
type Schema struct {
	rule    *rule
	subject string // what a fault of the whole is about, e.g. "the body"
	words   words  // names and values that need no copy when decoded
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

// words are the property names and enumerated values of the document, each
// already a string in an interface: what callers mostly send is so decoded
// without an allocation.
type words map[string]any

// kinds are JSON types as a set.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
	kindInteger // with kindNumber
)

// rule is one schema. A zero bound is none, but where a pointer says so.
type rule struct {
	ref     *rule
	kinds   kinds // 0 for any
	fixed   any   // const
	options []string
	nullish bool   // the enumeration holds null
	what    string // "a string", "one of A, B": what a value must be

	minLength, maxLength int
	pattern              *regexp.Regexp
	known                func(string) bool // the pattern by hand, where it has one
	format               func(string) bool

	minimum, maximum *float64

	minItems, maxItems int
	unique             bool
	items              *rule

	properties []property
	index      map[string]int // of properties, by name
	closed     bool
	additional *rule

	anyOf []*rule
	oneOf []*rule
	must  string // x-must: what to say where anyOf or the pattern fails

	// what a form tells people; see fields.go
	description, fallback, formatName string
}

type property struct {
	name     string
	required bool
	rule     *rule // nil where it is only required
}

// target follows references.
func (r *rule) target() *rule {
	for r.ref != nil {
		r = r.ref
	}
	return r
}
