package openapi

import (
	"fmt"
	"strconv"
	"strings"
)

// formatTexts describe the formats.
var formatTexts = map[string]string{
	"date":              "a date (YYYY-MM-DD)",
	"date-time":         "an RFC 3339 timestamp such as 2026-09-12T08:30:00Z",
	"instant":           "a date (YYYY-MM-DD) or an RFC 3339 timestamp",
	"date-or-date-time": "a date (YYYY-MM-DD) or an RFC 3339 timestamp",
	"uri":               "an absolute URL",
}

// expectation describes the valid values of a rule, as the end of a sentence that
// starts with "must be".
func expectation(r *rule, format string) string {
	text := r.valueExpectation(format)
	if r.types&typeNull != 0 && r.types != typeNull {
		text += " or null"
	}
	return text
}

func (r *rule) valueExpectation(format string) string {
	switch {
	case r.oneOf != nil:
		texts := make([]string, len(r.oneOf))
		for i, alternative := range r.oneOf {
			texts[i] = alternative.target().expected
		}
		return strings.Join(texts, " or ")
	case r.options != nil:
		return "one of " + strings.Join(r.options, ", ")
	case r.constant != nil:
		return fmt.Sprintf("%v", r.constant)
	case formatTexts[format] != "":
		return formatTexts[format]
	case r.pattern != nil && r.pattern.String() == idPattern:
		return "a UUID in lower case"
	case r.pattern != nil && r.pattern.String() == keyPattern:
		return "text that is not empty, without white space around it"
	case r.types&typeInteger != 0:
		return "an integer" + r.bounds()
	case r.types&typeNumber != 0:
		return "a number" + r.bounds()
	}
	return r.typeExpectation()
}

func (r *rule) typeExpectation() string {
	for _, k := range []struct {
		kind jsonTypes
		text string
	}{
		{typeString, "a string"},
		{typeBool, "true or false"},
		{typeArray, "an array"},
		{typeObject, "an object"},
		{typeNull, "null"},
	} {
		if r.types&k.kind != 0 {
			return k.text
		}
	}
	return "as the document says"
}

func (r *rule) bounds() string {
	show := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case r.minimum != nil && r.maximum != nil:
		return " from " + show(*r.minimum) + " to " + show(*r.maximum)
	case r.minimum != nil:
		return " of at least " + show(*r.minimum)
	case r.maximum != nil:
		return " of at most " + show(*r.maximum)
	}
	return ""
}
