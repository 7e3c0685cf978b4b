package openapi

import "strings"

// Mark puts a marker before every human-readable string in a value of this
// schema: texts, names and titles. Codes are not marked: the pieces give each of
// them an enumeration, a pattern or a format, and keys have a pattern. The
// patterns that publish adds to texts do not count. A string that has the marker
// keeps it. The value is changed in place and returned.
func (s *Schema) Mark(value any, marker string) any { return mark(s.rule.target(), value, marker) }

func mark(r *rule, value any, marker string) any {
	switch value := value.(type) {
	case string:
		if r.human() && !strings.HasPrefix(value, marker) {
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

// human tells whether a string of this rule is for people to read.
func (r *rule) human() bool {
	return r.kinds&kindString != 0 && r.fixed == nil && len(r.options) == 0 && r.pattern == nil && r.known == nil && r.format == nil
}
