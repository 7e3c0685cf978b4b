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

// validator collects the errors of one value in the order of the schema.
type validator struct {
	subject string
	errs    []ValidationError
}

// addError records an error at a location. The text continues a sentence that
// starts with the name of the location.
func (c *validator) addError(at *location, text string) {
	param := at.String()
	name := param
	if name == "" {
		name = c.subject
	}
	c.errs = append(c.errs, ValidationError{Param: param, Message: name + " " + text})
}

func (c *validator) check(r *rule, v any, at *location) {
	r = r.target()
	if !r.admits(v) {
		text := "must be " + r.expected
		if v == nil {
			text += ", not null"
		}
		c.addError(at, text)
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

// admits reports whether a value has the type, the const and the enum of r.
func (r *rule) admits(v any) bool {
	if r.types != 0 && r.types&jsonTypeOf(v) == 0 {
		return false
	}
	if r.types&typeInteger != 0 {
		if n, ok := v.(json.Number); ok && !isInteger(n) {
			return false
		}
	}
	if r.constant != nil && v != r.constant {
		return false
	}
	if r.options == nil {
		return true
	}
	if s, ok := v.(string); ok {
		return slices.Contains(r.options, s)
	}
	return v == nil && r.nullOption
}

func jsonTypeOf(v any) jsonTypes {
	switch v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBool
	case json.Number:
		return typeNumber
	case string:
		return typeString
	case []any:
		return typeArray
	default:
		return typeObject
	}
}

// isInteger reports whether a number is whole and fits an int64. In JSON Schema
// 25.0 is an integer, too.
func isInteger(n json.Number) bool {
	if _, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return true
	}
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53
}

func (c *validator) checkString(r *rule, s string, at *location) {
	if r.minLength > 0 && utf8.RuneCountInString(strings.TrimSpace(s)) < r.minLength {
		c.addError(at, atLeast(r.minLength, "character"))
	}
	if r.oneLine && strings.ContainsAny(strings.TrimSpace(s), lineEndings) {
		c.addError(at, "must be one line")
	}
	if r.maxLength > 0 && len(s) > r.maxLength && utf8.RuneCountInString(s) > r.maxLength {
		c.addError(at, fmt.Sprintf("must have at most %d characters", r.maxLength))
	}
	if !r.matches(s) {
		c.addError(at, r.mustText())
	}
	if r.format != nil && !r.format(s) {
		c.addError(at, "must be "+r.expected)
	}
}

func (r *rule) matches(s string) bool {
	if r.matcher != nil {
		return r.matcher(s)
	}
	return r.pattern == nil || r.pattern.MatchString(s)
}

func (r *rule) mustText() string {
	if r.must != "" {
		return "must " + r.must
	}
	return "must be " + r.expected
}

// lineEndings are the characters that end a line in Unicode.
const lineEndings = "\n\v\f\r\u0085\u2028\u2029"

func atLeast(n int, unit string) string {
	if n == 1 {
		return "must not be empty"
	}
	return fmt.Sprintf("must have at least %d %ss", n, unit)
}

func (c *validator) checkNumber(r *rule, n json.Number, at *location) {
	if r.minimum == nil && r.maximum == nil {
		return
	}
	f, err := n.Float64()
	if err != nil || r.minimum != nil && f < *r.minimum || r.maximum != nil && f > *r.maximum {
		c.addError(at, "must be "+r.expected)
	}
}

func (c *validator) checkArray(r *rule, items []any, at *location) {
	if len(items) < r.minItems {
		c.addError(at, atLeast(r.minItems, "item"))
	}
	if r.maxItems > 0 && len(items) > r.maxItems {
		c.addError(at, fmt.Sprintf("must have at most %d items", r.maxItems))
		return
	}
	if r.items == nil {
		return
	}
	here := location{parent: at, item: true}
	for i, item := range items {
		here.index = i
		c.check(r.items, item, &here)
		// It compares only strings, because a comparison of two maps would panic.
		if s, ok := item.(string); ok && r.unique && slices.Contains(items[:i], any(s)) {
			c.addError(&here, "is given twice")
		}
		items[i] = r.items.wholeNumber(item)
	}
}

func (c *validator) checkObject(r *rule, members map[string]any, at *location) {
	known := 0
	here := location{parent: at}
	for i := range r.properties {
		p := &r.properties[i]
		here.name = p.name
		v, ok := members[p.name]
		if !ok {
			if p.required {
				c.addError(&here, "is required")
			}
			continue
		}
		known++
		if p.rule != nil {
			c.check(p.rule, v, &here)
			if p.rule.target().types&typeInteger != 0 {
				members[p.name] = p.rule.wholeNumber(v)
			}
		}
	}
	if known < len(members) && (r.closed || r.additional != nil) {
		c.checkOthers(r, members, at)
	}
}

// checkOthers checks the members that are not properties, sorted by name.
func (c *validator) checkOthers(r *rule, members map[string]any, at *location) {
	var others []string
	for name := range members {
		if _, ok := r.index[name]; !ok {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	here := location{parent: at}
	for _, name := range others {
		here.name = name
		if r.closed {
			c.addError(&here, "is not a known member")
		} else {
			c.check(r.additional, members[name], &here)
		}
	}
}

// checkAnyOf checks that a value matches an alternative. If exactly one alternative
// has the type of the value, it reports the errors of that alternative.
func (c *validator) checkAnyOf(r *rule, v any, at *location) {
	var sameType []*validator
	for _, alternative := range r.anyOf {
		try := &validator{subject: c.subject}
		try.check(alternative, v, at)
		if len(try.errs) == 0 {
			return
		}
		if kinds := alternative.target().types; kinds == 0 || kinds&jsonTypeOf(v) != 0 {
			sameType = append(sameType, try)
		}
	}
	if r.must == "" && len(sameType) == 1 {
		c.errs = append(c.errs, sameType[0].errs...)
		return
	}
	c.addError(at, r.mustText())
}

// checkOneOf checks that a value matches exactly one alternative.
func (c *validator) checkOneOf(r *rule, v any, at *location) {
	matches := 0
	for _, alternative := range r.oneOf {
		try := &validator{subject: c.subject}
		if try.check(alternative, v, at); len(try.errs) == 0 {
			matches++
		}
	}
	if matches != 1 {
		c.addError(at, r.mustText())
	}
}

// wholeNumber rewrites an integer such as 25.0 or 1e2 as 25 or 100, the form that
// json.Number.Int64 parses.
func (r *rule) wholeNumber(v any) any {
	n, ok := v.(json.Number)
	if !ok || r.target().types&typeInteger == 0 || !strings.ContainsAny(string(n), ".eE") {
		return v
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return v
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}
