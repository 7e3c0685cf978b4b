package api

import (
	"context"

	"govsvc/db"
)

// write runs a change and stores, with it, its answer for the request's
// idempotency key.
func (c *Caller) write(ctx context.Context, status int, object string, change func(*db.Tx) ([]byte, error)) (Answer, error) {
	return c.writeOnce(ctx, status, object, func(tx *db.Tx) (shown, kept []byte, err error) {
		resource, err := change(tx)
		return resource, resource, err
	})
}

// writeOnce is a write whose answer shows what a replay must not: the replay
// gets what is kept.
func (c *Caller) writeOnce(ctx context.Context, status int, object string, change func(*db.Tx) (shown, kept []byte, err error)) (Answer, error) {
	var answer Answer
	err := c.Store.Write(ctx, c.actor(), func(tx *db.Tx) error {
		shown, kept, err := change(tx)
		if err != nil {
			return err
		}
		answer = Answer{Status: status, ContentType: JSON, Body: objectEnvelope(object, shown)}
		if c.Idempotency == nil {
			return nil
		}
		return tx.StoreResponse(*c.Idempotency, db.IdempotentResponse{Status: status, Body: objectEnvelope(object, kept)})
	})
	return answer, err
}
