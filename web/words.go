package web

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"govsvc/server/api"
)

// functions are those that templates may call. Numbers, times and values of
// every kind that records hold are taken as they are, nil and pointers too.
func (s *Site) functions() template.FuncMap {
	return template.FuncMap{
		"asset":   s.asset,
		"words":   words,
		"tone":    tone,
		"number":  number,
		"percent": percent,
		"utc":     utc,
		"instant": instant,
		"text":    text,
		"path":    pathOf,
		"join":    func(list []string) string { return strings.Join(list, ", ") },
		"plural":  plural,
	}
}

// text is a value as text; "" for nil.
func text(value any) string {
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
			parts[i] = text(one)
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		body, _ := api.EncodeJSON(v) // came from JSON
		return string(body)
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

// indirect follows pointers; nil for a nil pointer.
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

// acronyms keep their capitals.
var acronyms = map[string]string{
	"ai": "AI", "api": "API", "id": "id", "url": "URL", "kpi": "KPI", "kpis": "KPIs", "rag": "RAG", "utc": "UTC", "eu": "EU", "mcp": "MCP",
}

// words makes a value of an enumeration readable: IN_PROGRESS and InProgress
// are In progress.
func words(value any) string {
	var spaced strings.Builder
	before := ' '
	for _, r := range text(value) {
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
		if known, ok := acronyms[part]; ok {
			parts[i] = known
		}
	}
	return capital(strings.Join(parts, " "))
}

func capital(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[n:]
}

// sentence makes a refusal's message one: a capital, a full stop.
func sentence(message string) string {
	message = strings.TrimSpace(message)
	if message == "" {
		return message
	}
	// a member's name that starts a message stays as it is spelt
	word, rest, _ := strings.Cut(message, " ")
	switch known := acronyms[word]; {
	case known != "" && known == strings.ToUpper(word):
		message = strings.TrimSpace(known + " " + rest)
	case !strings.ContainsAny(word, "_.["):
		message = capital(message)
	}
	if strings.ContainsRune(".!?", rune(message[len(message)-1])) {
		return message
	}
	return message + "."
}

// tones are the colours of values, by their meaning; anything else is neutral.
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
	"refused": "high", "broken": "critical", "intact": "good", "included": "good",
}

// tone is the colour of a value.
func tone(value any) string {
	if found, ok := tones[strings.ToLower(text(value))]; ok {
		return found
	}
	return "neutral"
}

// float reads a number of any kind.
func float(value any) (float64, bool) {
	switch v := indirect(value).(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case nil, string:
		return 0, false
	default:
		r := reflect.ValueOf(v)
		switch {
		case r.CanInt():
			return float64(r.Int()), true
		case r.CanUint():
			return float64(r.Uint()), true
		case r.CanFloat():
			return r.Float(), true
		}
		return 0, false
	}
}

// number groups a number's digits by thousands and keeps at most two decimals.
// What is not a number is shown as it is.
func number(value any) string {
	f, ok := float(value)
	if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
		return text(value)
	}
	whole, decimals, _ := strings.Cut(strconv.FormatFloat(math.Abs(f), 'f', 2, 64), ".")
	var b strings.Builder
	if f < 0 {
		b.WriteString("−")
	}
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if decimals = strings.TrimRight(decimals, "0"); decimals != "" {
		b.WriteString("." + decimals)
	}
	return b.String()
}

// percent shows a number of hundredths: 71.3 is 71.3 %.
func percent(value any) string { return unit(value, "%") }

// money shows an amount with its currency.
func money(value, currency any) string { return unit(value, text(currency)) }

func unit(value any, name string) string {
	if shown := number(value); shown != "" && name != "" {
		return shown + "\u00a0" + name
	}
	return number(value)
}

// megabytes shows a limit in bytes. Limits count 1,048,576 bytes as a megabyte,
// as the documentation does.
func megabytes(limit int64) string { return fmt.Sprintf("%d\u00a0MB", limit>>20) }

// size shows a number of bytes.
func size(value any) string {
	f, _ := float(value)
	names := []string{"B", "KB", "MB", "GB", "TB"}
	i := 0
	for f >= 1000 && i < len(names)-1 {
		f, i = f/1000, i+1
	}
	if i > 0 && f < 10 {
		return fmt.Sprintf("%.1f\u00a0%s", f, names[i])
	}
	return fmt.Sprintf("%.0f\u00a0%s", f, names[i])
}

// moment reads a timestamp or a date of a record.
func moment(value any) (at time.Time, dayOnly, ok bool) {
	if t, is := indirect(value).(time.Time); is {
		return t.UTC(), false, !t.IsZero()
	}
	s := text(value)
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at.UTC(), false, true
	}
	at, err := time.Parse(time.DateOnly, s)
	return at, true, err == nil
}

// utc shows an instant in UTC, to the minute, and a date as it is. The script
// times.js puts instants into the reader's zone.
func utc(value any) string {
	at, dayOnly, ok := moment(value)
	switch {
	case !ok:
		return text(value)
	case dayOnly:
		return at.Format("2 Jan 2006")
	}
	return at.Format("2 Jan 2006, 15:04") + " UTC"
}

// instant is the value of a time element's datetime.
func instant(value any) string {
	at, dayOnly, ok := moment(value)
	switch {
	case !ok:
		return ""
	case dayOnly:
		return at.Format(time.DateOnly)
	}
	return at.Format("2006-01-02T15:04:05.000Z")
}

// pathOf is the path of parts, each of which is escaped.
func pathOf(parts ...any) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("/" + url.PathEscape(text(part)))
	}
	return b.String()
}

// query adds parameters, as names and values, to a path.
func query(path string, pairs ...any) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := text(pairs[i+1]); value != "" {
			values.Set(text(pairs[i]), value)
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// plural counts things: 1 risk, 2 risks.
func plural(n any, one, many string) string {
	if f, _ := float(n); f == 1 {
		return number(n) + " " + one
	}
	return number(n) + " " + many
}
