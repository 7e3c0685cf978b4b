package openapi

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// checker collects the faults of one value in the order of the schema.
type checker struct {
	subject string
	faults  []ValidationError
}

// fault notes what is wrong at a place; the text goes on from its name.
func (c *checker) fault(at *location, text string) {
	param := at.String()
	name := param
	if name == "" {
		name = c.subject
	}
	c.faults = append(c.faults, ValidationError{Param: param, Message: name + " " + text})
}

func (c *checker) check(r *rule, v any, at *location) {
	r = r.target()
	if !r.admits(v) {
		text := "must be " + r.what
		if v == nil {
			text += ", not null"
		}
		c.fault(at, text)
		return
	}
	switch v := v.(type) {
	case string:
		c.checkString(r, v, at)
	case json.Number:
		c.checkNumber(r, v, at)
	case map[string]any:
		c.checkObject(r, v, at)
	case []any:
		c.checkArray(r, v, at)
	}
	if r.anyOf != nil {
		c.checkAnyOf(r, v, at)
	}
	if r.oneOf != nil {
		c.checkOneOf(r, v, at)
	}
}

// admits checks type, const and enum.
func (r *rule) admits(v any) bool {
	if r.kinds != 0 && r.kinds&kindOf(v) == 0 {
		return false
	}
	if r.kinds&kindInteger != 0 {
		if n, ok := v.(json.Number); ok && !isInteger(n) {
			return false
		}
	}
	if r.fixed != nil && v != r.fixed {
		return false
	}
	if r.options == nil {
		return true
	}
	if s, ok := v.(string); ok {
		return slices.Contains(r.options, s)
	}
	return v == nil && r.nullish
}

func kindOf(v any) kinds {
	switch v.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBool
	case json.Number:
		return kindNumber
	case string:
		return kindString
	case []any:
		return kindArray
	default:
		return kindObject
	}
}

// isInteger tells whether a number is whole and fits an int64, however it is
// written: 25.0 is an integer to JSON Schema.
func isInteger(n json.Number) bool {
	if _, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return true
	}
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53
}

func (c *checker) checkString(r *rule, s string, at *location) {
	if r.minLength > 0 && utf8.RuneCountInString(strings.TrimSpace(s)) < r.minLength {
		c.fault(at, atLeast(r.minLength, "character"))
	}
	if r.maxLength > 0 && len(s) > r.maxLength && utf8.RuneCountInString(s) > r.maxLength {
		c.fault(at, fmt.Sprintf("must have at most %d characters", r.maxLength))
	}
	if !r.matches(s) {
		c.fault(at, r.mustText())
	}
	if r.format != nil && !r.format(s) {
		c.fault(at, "must be "+r.what)
	}
}

func (r *rule) matches(s string) bool {
	if r.known != nil {
		return r.known(s)
	}
	return r.pattern == nil || r.pattern.MatchString(s)
}

func (r *rule) mustText() string {
	if r.must != "" {
		return "must " + r.must
	}
	return "must be " + r.what
}

func atLeast(n int, noun string) string {
	if n == 1 {
		return "must not be empty"
	}
	return fmt.Sprintf("must have at least %d %ss", n, noun)
}

func (c *checker) checkNumber(r *rule, n json.Number, at *location) {
	if r.minimum == nil && r.maximum == nil {
		return
	}
	f, err := n.Float64()
	if err != nil || r.minimum != nil && f < *r.minimum || r.maximum != nil && f > *r.maximum {
		c.fault(at, "must be "+r.what)
	}
}

func (c *checker) checkArray(r *rule, items []any, at *location) {
	if len(items) < r.minItems {
		c.fault(at, atLeast(r.minItems, "item"))
	}
	if r.maxItems > 0 && len(items) > r.maxItems {
		c.fault(at, fmt.Sprintf("must have at most %d items", r.maxItems))
		return
	}
	if r.items == nil {
		return
	}
	here := location{up: at, item: true}
	for i, item := range items {
		here.index = i
		c.check(r.items, item, &here)
		// Only strings: comparing two maps would panic.
		if s, ok := item.(string); ok && r.unique && slices.Contains(items[:i], any(s)) {
			c.fault(&here, "is given twice")
		}
		items[i] = r.items.plain(item)
	}
}

func (c *checker) checkObject(r *rule, members map[string]any, at *location) {
	known := 0
	here := location{up: at}
	for i := range r.properties {
		p := &r.properties[i]
		here.name = p.name
		v, ok := members[p.name]
		if !ok {
			if p.required {
				c.fault(&here, "is required")
			}
			continue
		}
		known++
		if p.rule != nil {
			c.check(p.rule, v, &here)
			if p.rule.target().kinds&kindInteger != 0 {
				members[p.name] = p.rule.plain(v)
			}
		}
	}
	if known < len(members) && (r.closed || r.additional != nil) {
		c.checkOthers(r, members, at)
	}
}

// checkOthers looks at the members that are no properties, in order of name.
func (c *checker) checkOthers(r *rule, members map[string]any, at *location) {
	var others []string
	for name := range members {
		if _, ok := r.index[name]; !ok {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	here := location{up: at}
	for _, name := range others {
		here.name = name
		if r.closed {
			c.fault(&here, "is not a known member")
		} else {
			c.check(r.additional, members[name], &here)
		}
	}
}

// checkAnyOf reports the faults of the only alternative that may have been
// meant, if there is one, and what is needed otherwise.
func (c *checker) checkAnyOf(r *rule, v any, at *location) {
	var meant []*checker
	for _, alternative := range r.anyOf {
		try := &checker{subject: c.subject}
		try.check(alternative, v, at)
		if len(try.faults) == 0 {
			return
		}
		if kinds := alternative.target().kinds; kinds == 0 || kinds&kindOf(v) != 0 {
			meant = append(meant, try)
		}
	}
	if r.must == "" && len(meant) == 1 {
		c.faults = append(c.faults, meant[0].faults...)
		return
	}
	c.fault(at, r.mustText())
}

// checkOneOf reports a value that does not match exactly one alternative.
func (c *checker) checkOneOf(r *rule, v any, at *location) {
	matches := 0
	for _, alternative := range r.oneOf {
		try := &checker{subject: c.subject}
		if try.check(alternative, v, at); len(try.faults) == 0 {
			matches++
		}
	}
	if matches != 1 {
		c.fault(at, r.mustText())
	}
}

// plain rewrites a whole number such as 25.0 or 1e2 to 25 and 100, the only
// form that json.Number.Int64 reads.
func (r *rule) plain(v any) any {
	n, ok := v.(json.Number)
	if !ok || r.target().kinds&kindInteger == 0 || !strings.ContainsAny(string(n), ".eE") {
		return v
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return v
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}
