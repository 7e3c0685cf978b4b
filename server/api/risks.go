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
		if reason == "" && db.NeedsReason(before, before.With(in.Body)) {
			return nil, &Error{
				Code: InvalidParameter, Param: "severity_change_reason",
				Message: "severity_change_reason is required, with at least 20 characters: " +
					"this change lowers or clears a severity or a likelihood, or closes, accepts or mitigates a CRITICAL risk",
			}
		}
		return tx.UpdateRisk(in.ID, in.record(nil))
	})
}
