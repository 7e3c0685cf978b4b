package records

import (
	"maps"
	"slices"
	"strings"

	"govsvc/server/api"
	"govsvc/web/ui"
)

// FieldChange is a member before and after.
type FieldChange struct{ Label, From, To string }

// MaxValueLength bounds a value in a FieldChange, in characters. The page of the
// record has complete texts.
const MaxValueLength = 240

// Changes returns the changed members of an event.
func Changes(event api.AuditEvent) []FieldChange {
	var list []FieldChange
	for _, c := range event.Changes {
		list = append(list, FieldChange{Label(c.Field), ValueText(c.Field, c.From), ValueText(c.Field, c.To)})
	}
	return list
}

// ValueText formats a value of a member. The audit log has only the length and a
// digest of a long value.
func ValueText(member string, value any) string {
	if long, ok := value.(map[string]any); ok && len(long) == 2 && long["length"] != nil && long["sha256"] != nil {
		return "Long text, " + ui.Text(long["length"]) + " bytes, SHA-256 " + ui.Text(long["sha256"])
	}
	text := ui.Text(value)
	switch nested := value.(type) {
	case map[string]any:
		text = nestedText(member, nested)
	case []any:
		if slices.ContainsFunc(nested, isObject) {
			rows := make([]string, len(nested))
			for i, row := range nested {
				rows[i] = ValueText(member, row)
			}
			text = strings.Join(rows, "; ")
		}
	}
	if _, _, ok := ui.ParseTime(text); ok {
		return ui.FormatTime(text)
	}
	number, isNumber := ui.Float(value)
	switch {
	case isNumber && hundredths[member]:
		return ui.FormatPercent(value)
	case isNumber && shares[member]:
		return ui.FormatPercent(number * 100)
	case isNumber && member != "version_number" && member != "roadmap_version":
		return ui.FormatNumber(value)
	case enumerated[member] || codes[member]:
		text = ui.CodeLabel(text)
	}
	return ui.Truncate(text, MaxValueLength)
}

func isObject(value any) bool {
	_, is := value.(map[string]any)
	return is
}

// nestedText formats an object, such as the shares of frameworks.
func nestedText(member string, value map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if shares[member] {
			parts = append(parts, ui.Capitalize(name)+": "+ValueText(member, value[name]))
		} else {
			parts = append(parts, Label(name)+": "+ValueText(name, value[name]))
		}
	}
	return strings.Join(parts, ", ")
}
