package openapi

import (
	"fmt"
	"strconv"
	"strings"
)

// formatTexts says what a string of a format is.
var formatTexts = map[string]string{
	"date":              "a date (YYYY-MM-DD)",
	"date-time":         "an RFC 3339 timestamp such as 2026-09-12T08:30:00Z",
	"instant":           "a date (YYYY-MM-DD) or an RFC 3339 timestamp",
	"date-or-date-time": "a date (YYYY-MM-DD) or an RFC 3339 timestamp",
	"uri":               "an absolute URL",
}

// what says in words what a value of a rule must be, for "must be …".
func what(r *rule, format string) string {
	text := r.plainWhat(format)
	if r.kinds&kindNull != 0 && r.kinds != kindNull {
		text += " or null"
	}
	return text
}

func (r *rule) plainWhat(format string) string {
	switch {
	case r.oneOf != nil:
		texts := make([]string, len(r.oneOf))
		for i, alternative := range r.oneOf {
			texts[i] = alternative.target().what
		}
		return strings.Join(texts, " or ")
	case r.options != nil:
		return "one of " + strings.Join(r.options, ", ")
	case r.fixed != nil:
		return fmt.Sprintf("%v", r.fixed)
	case formatTexts[format] != "":
		return formatTexts[format]
	case r.pattern != nil && r.pattern.String() == idPattern:
		return "a UUID in lower case"
	case r.pattern != nil && r.pattern.String() == keyPattern:
		return "text that is not empty, without white space around it"
	case r.kinds&kindInteger != 0:
		return "an integer" + r.bounds()
	case r.kinds&kindNumber != 0:
		return "a number" + r.bounds()
	}
	return r.kindWhat()
}

func (r *rule) kindWhat() string {
	for _, k := range []struct {
		kind kinds
		text string
	}{
		{kindString, "a string"},
		{kindBool, "true or false"},
		{kindArray, "an array"},
		{kindObject, "an object"},
		{kindNull, "null"},
	} {
		if r.kinds&k.kind != 0 {
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
