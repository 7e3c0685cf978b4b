package api

import (
	"context"

	"govsvc/db"
)

// write runs a change and stores, with it, its answer for the request's
// idempotency key.
func (c *Caller) write(ctx context.Context, status int, object string, change func(*db.Tx) ([]byte, error)) (Answer, error) {
	var answer Answer
	err := c.Store.Write(ctx, c.by(), func(tx *db.Tx) error {
		resource, err := change(tx)
		if err != nil {
			return err
		}
		answer = Answer{Status: status, ContentType: JSON, Body: objectEnvelope(object, resource)}
		if c.Idempotency == nil {
			return nil
		}
		return tx.KeepAnswer(*c.Idempotency, db.KeptAnswer{Status: status, Body: answer.Body})
	})
	return answer, err
}
