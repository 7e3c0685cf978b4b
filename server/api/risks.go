package api

import (
	"context"

	"govsvc/db"
)

// CreateRisk adds a risk to the register (specification, Risk writes).
func CreateRisk(ctx context.Context, c *Caller, in Input) (Answer, error) {
	return c.write(ctx, 201, "risk", func(tx *db.Tx) ([]byte, error) {
		record := in.record(db.Record{"dimension": "OTHER"})
		record["status"], record["source"] = "Open", "user_added"
		return tx.CreateRisk(record)
	})
}

// UpdateRisk changes a risk. What makes it look less grave needs a reason
// (specification, States, rule 2).
func UpdateRisk(ctx context.Context, c *Caller, in Input) (Answer, error) {
	return c.write(ctx, 200, "risk", func(tx *db.Tx) ([]byte, error) {
		before, err := tx.RiskRating(in.ID)
		if err != nil {
			return nil, err
		}
		reason, _ := in.Body["severity_change_reason"].(string)
		if reason == "" && needsReason(before, rerated(before, in.Body)) {
			return nil, &Error{
				Code: InvalidParameter, Param: "severity_change_reason",
				Message: "severity_change_reason is required, with at least 20 characters: " +
					"this change lowers or clears a severity or a likelihood, or closes, accepts or mitigates a CRITICAL risk",
			}
		}
		return tx.UpdateRisk(in.ID, in.record(nil))
	})
}

// rerated is a rating with the members that a change gives.
func rerated(r db.Rating, change map[string]any) db.Rating {
	for member, field := range map[string]*string{
		"severity": &r.Severity, "residual_severity": &r.ResidualSeverity, "likelihood": &r.Likelihood, "status": &r.Status,
	} {
		if value, given := change[member]; given {
			*field, _ = value.(string) // null is ""
		}
	}
	return r
}

// needsReason decides whether a change of a risk's rating must be explained:
// one that lowers or clears a severity or the likelihood, or closes, accepts or
// mitigates a risk whose inherent severity is CRITICAL before or after it.
func needsReason(before, after db.Rating) bool {
	if db.Severer(before.Severity, after.Severity) ||
		db.Severer(before.ResidualSeverity, after.ResidualSeverity) ||
		db.Severer(before.Likelihood, after.Likelihood) {
		return true
	}
	settles := before.Status != after.Status &&
		(after.Status == "Mitigated" || after.Status == "Accepted" || after.Status == "Closed")
	return settles && (before.Severity == "CRITICAL" || after.Severity == "CRITICAL")
}
