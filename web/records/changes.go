package records

import (
	"slices"

	"govsvc/server/api"
	"govsvc/web/ui"
)

// FieldChange is a member before and after.
type FieldChange struct{ Label, From, To string }

// MaxValueLength bounds a value before or after in characters: whole texts stand
// in the record.
const MaxValueLength = 240

// Changes are the members that an event changed.
func Changes(event api.AuditEvent) []FieldChange {
	var list []FieldChange
	for _, c := range event.Changes {
		list = append(list, FieldChange{Label(c.Field), ValueText(c.Field, c.From), ValueText(c.Field, c.To)})
	}
	return list
}

// ValueText is a value of a member in words. The audit log has a length and a
// digest of a long one.
func ValueText(member string, value any) string {
	if long, ok := value.(map[string]any); ok && len(long) == 2 && long["length"] != nil && long["sha256"] != nil {
		return "Long text, " + ui.Text(long["length"]) + " bytes, SHA-256 " + ui.Text(long["sha256"])
	}
	said := ui.Text(value)
	if _, _, ok := ui.ParseTime(said); ok {
		return ui.FormatTime(said)
	}
	if slices.Contains(badges, member) || member == "likelihood" || member == "residual_severity" {
		said = ui.Humanize(said)
	}
	return ui.Truncate(said, MaxValueLength)
}
