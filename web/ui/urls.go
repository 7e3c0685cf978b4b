package ui

import (
	"net/url"
	"strings"
)

// Path joins parts to a path and escapes each of them.
func Path(parts ...any) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("/" + url.PathEscape(Text(part)))
	}
	return b.String()
}

// WithQuery adds query parameters, given as names and values, to a path. It omits
// empty values.
func WithQuery(path string, pairs ...any) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := Text(pairs[i+1]); value != "" {
			values.Set(Text(pairs[i]), value)
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}
