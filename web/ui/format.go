package ui

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a value as text, or "" for nil.
func Text(value any) string {
	switch v := indirect(value).(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "Yes"
		}
		return "No"
	case []string:
		return strings.Join(v, ", ")
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = Text(one)
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		return encodeJSON(v)
	case fmt.Stringer:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		if r := reflect.ValueOf(v); r.Kind() == reflect.String {
			return r.String()
		}
		return fmt.Sprint(v)
	}
}

// indirect follows pointers. It returns nil for a nil pointer.
func indirect(value any) any {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

// spellings are the words that Humanize spells in another way.
var spellings = map[string]string{
	"checkin": "check-in",
	"ai":      "AI", "api": "API", "id": "ID", "url": "URL", "kpi": "KPI", "kpis": "KPIs", "rag": "RAG", "utc": "UTC", "eu": "EU", "mcp": "MCP", "csv": "CSV", "json": "JSON", "ndjson": "NDJSON", "http": "HTTP", "sha256": "SHA-256",
}

// Humanize makes a value of an enumeration readable. It returns the value's label or,
// without one, words: IN_PROGRESS and InProgress become "In progress".
func Humanize(value any) string {
	if label, known := ValueLabel(value); known {
		return label
	}
	var spaced strings.Builder
	before := ' '
	for _, r := range Text(value) {
		switch {
		case r == '_' || r == '.':
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(before):
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		before = r
	}
	parts := strings.Fields(strings.ToLower(spaced.String()))
	for i, part := range parts {
		if known, ok := spellings[part]; ok {
			parts[i] = known
		}
	}
	return Capitalize(strings.Join(parts, " "))
}

// ByActor returns the name of an actor within a sentence: "the command line".
func ByActor(name string) string {
	if name == "Command line" {
		return "the command line"
	}
	if key, ok := strings.CutPrefix(name, "Key "); ok {
		return "the key " + key
	}
	return name
}

// Capitalize returns a text with a capital first letter.
func Capitalize(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[n:]
}

// Sentence makes a sentence of an error message: a capital first letter and a
// full stop.
func Sentence(message string) string {
	message = strings.TrimSpace(message)
	if message == "" {
		return message
	}
	// the name of a member at the start keeps its spelling
	word, rest, _ := strings.Cut(message, " ")
	switch known := spellings[word]; {
	case known != "" && known == strings.ToUpper(word):
		message = strings.TrimSpace(known + " " + rest)
	case !strings.ContainsAny(word, "_.["):
		message = Capitalize(message)
	}
	if strings.ContainsRune(".!?", rune(message[len(message)-1])) {
		return message
	}
	return message + "."
}

// tones maps values in lower case to colours. Other values are neutral.
var tones = map[string]string{
	"critical": "critical", "red": "critical", "non_compliant": "critical", "failed": "critical", "dead": "critical",
	"canceled": "critical", "blocked": "critical", "critical_gap": "critical", "revoked": "critical", "almost_certain": "critical",
	"failing": "critical", "dead_letter": "critical",
	"high": "high", "elevated": "high", "at_risk": "high", "past_due": "high", "escalated": "high", "overdue": "high", "likely": "high",
	"expired": "high", "expires_soon": "high", "retrying": "high",
	"medium": "medium", "amber": "medium", "watch": "medium", "developing": "medium", "partially_compliant": "medium",
	"investigating": "medium", "paused": "medium", "possible": "medium", "pending": "medium", "never_used": "medium",
	"open": "info", "in_progress": "info", "inprogress": "info", "contained": "info", "new": "info", "live": "info", "admin": "info", "waiting": "info",
	"low": "good", "green": "good", "compliant": "good", "healthy": "good", "ready": "good", "completed": "good", "active": "good",
	"delivered": "good", "mitigated": "good", "resolved": "good", "filled": "good", "unlikely": "good", "rare": "good", "on": "good", "used": "good",
	"crisis": "critical", "emergency": "high", "remediation": "medium", "optimization": "good", "excellence": "good",
	"on_target": "good", "near_target": "medium", "off_target": "critical",
	"refused": "high", "broken": "critical", "intact": "good", "included": "good",
	"ok": "good", "verified": "good", "warning": "medium", "missing": "medium",
}

// Tone returns the colour of a value.
func Tone(value any) string {
	if found, ok := tones[strings.ToLower(Text(value))]; ok {
		return found
	}
	return "neutral"
}

// Truncate cuts a text to limit characters and marks the cut with an ellipsis.
func Truncate(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:limit])) + "…"
}

// WithArticle puts "a" or "an" before a name.
func WithArticle(name string) string {
	if name != "" && strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// ShellQuote quotes any text as one word of a shell command.
func ShellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// encodeJSON encodes a value that was decoded from JSON.
func encodeJSON(value any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // cannot fail: the value was decoded from JSON
	return strings.TrimSuffix(out.String(), "\n")
}
