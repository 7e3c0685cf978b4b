package api

import (
	"context"

	"govsvc/db"
)

// CreateIncident declares an incident (specification, Incident writes).
func CreateIncident(ctx context.Context, c *Caller, in Input) (Answer, error) {
	return c.write(ctx, 201, "incident", func(tx *db.Tx) ([]byte, error) {
		return tx.CreateIncident(in.record(nil))
	})
}

// UpdateIncident changes an incident; a change of its status goes on its
// timeline.
func UpdateIncident(ctx context.Context, c *Caller, in Input) (Answer, error) {
	return c.write(ctx, 200, "incident", func(tx *db.Tx) ([]byte, error) {
		return tx.UpdateIncident(in.ID, in.record(nil))
	})
}
