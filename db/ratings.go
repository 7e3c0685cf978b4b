package db

import "govsvc/db/audit"

// Rating is what decides how grave a risk is, "" where it is not rated.
type Rating struct {
	Severity         string `json:"severity"`
	ResidualSeverity string `json:"residual_severity"`
	Likelihood       string `json:"likelihood"`
	Status           string `json:"status"`
}

// Severer tells whether severity or likelihood a ranks above b; "" ranks below
// all.
func Severer(a, b string) bool { return rank[a] > rank[b] }

// With is the rating after a change of a risk's members; null is "".
func (r Rating) With(change map[string]any) Rating {
	for member, field := range map[string]*string{
		"severity": &r.Severity, "residual_severity": &r.ResidualSeverity, "likelihood": &r.Likelihood, "status": &r.Status,
	} {
		if value, given := change[member]; given {
			*field, _ = value.(string)
		}
	}
	return r
}

// NeedsReason reports whether a change of a risk's rating must be explained
// (specification, States, rule 2): it lowers or clears a severity or the
// likelihood, or it closes, accepts or mitigates a risk whose inherent severity
// is CRITICAL before or after it.
func NeedsReason(before, after Rating) bool {
	if Severer(before.Severity, after.Severity) ||
		Severer(before.ResidualSeverity, after.ResidualSeverity) ||
		Severer(before.Likelihood, after.Likelihood) {
		return true
	}
	settles := before.Status != after.Status &&
		(after.Status == "Mitigated" || after.Status == "Accepted" || after.Status == "Closed")
	return settles && (before.Severity == "CRITICAL" || after.Severity == "CRITICAL")
}

// rating is how a risk is rated in its row.
func (s *storedRow) rating() Rating {
	return Rating{
		Severity: s.text("severity"), ResidualSeverity: s.text("residual_severity"),
		Likelihood: s.text("likelihood"), Status: s.text("status"),
	}
}

// recordReason keeps the reason for a change of a risk's rating as evidence,
// with who, when, before and after.
func recordReason(tx *Tx, risk int64, reason string, before, after Rating) error {
	_, err := tx.Exec("INSERT INTO severity_evidence (risk_seq, id, at, actor, reason, before, after) VALUES (?, ?, ?, ?, ?, ?, ?)",
		risk, tx.NewID(), tx.At(), tx.ID, reason, compact(before), compact(after))
	return err
}

// importedReason applies the rule of severity_change_reason to a risk that an
// import changes, and keeps the reason as evidence. The record's own reason
// counts before that of the import.
func importedReason(tx *Tx, known storedRow, record Record, changes audit.Changes) error {
	im := tx.importing
	if im == nil {
		return nil
	}
	before := known.rating()
	after := before.With(record)
	reason, _ := record[reasonMember].(string)
	if reason == "" {
		needed := NeedsReason(before, after)
		rated := before.Severity != after.Severity || before.ResidualSeverity != after.ResidualSeverity
		switch {
		case needed && im.rules.Reason == "" && im.rules.RequireReasons:
			im.lacksReason = true
			return nil
		case needed || rated && !im.rules.RequireReasons:
			reason = im.rules.Reason
		}
	}
	if reason == "" {
		return nil
	}
	record[reasonMember] = reason // for subscribers
	changes[reasonMember] = audit.Change{To: reason}
	return recordReason(tx, known.seq, reason, before, after)
}

// reasonMember is a member of changes of risks, and no column.
const reasonMember = "severity_change_reason"
