package openapi

import "strings"

// Mark puts a marker before every human-readable string in a value of this
// schema: texts, names and titles, unless it has the marker. Codes and keys are
// recognised by their enumeration, pattern or format in the document. It changes the
// value in place and returns it.
func (s *Schema) Mark(value any, marker string) any { return mark(s.rule.target(), value, marker) }

func mark(r *rule, value any, marker string) any {
	switch value := value.(type) {
	case string:
		if r.isProse() && !strings.HasPrefix(value, marker) {
			return marker + value
		}
	case []any:
		for i := range value {
			if r.items != nil {
				value[i] = mark(r.items.target(), value[i], marker)
			}
		}
	case map[string]any:
		for name, member := range value {
			if at, known := r.index[name]; known && r.properties[at].rule != nil {
				value[name] = mark(r.properties[at].rule.target(), member, marker)
			}
		}
	}
	return value
}

// isProse reports whether the strings of this rule are human-readable.
func (r *rule) isProse() bool {
	return r.types&typeString != 0 && r.constant == nil && len(r.options) == 0 && r.pattern == nil && r.matcher == nil && r.format == nil
}
