package api

import (
	"context"

	"govsvc/db"
	"govsvc/db/resource"
)

// create makes the operation that creates a record of a resource.
func create(r *resource.Resource) Operation {
	return func(ctx context.Context, c *Caller, in Input) (Response, error) {
		return c.write(ctx, 201, r.Type, func(tx *db.Tx) ([]byte, error) {
			made, err := tx.Create(r, in.record(nil))
			return made.JSON, err
		})
	}
}

// update makes the operation that changes a record of a resource.
func update(r *resource.Resource) Operation {
	return func(ctx context.Context, c *Caller, in Input) (Response, error) {
		return c.write(ctx, 200, r.Type, func(tx *db.Tx) ([]byte, error) {
			changed, err := tx.Update(r, in.ID, in.record(nil))
			return changed.JSON, err
		})
	}
}

// write runs a change and stores, with it, its answer for the request's
// idempotency key.
func (c *Caller) write(ctx context.Context, status int, object string, change func(*db.Tx) ([]byte, error)) (Response, error) {
	return c.writeOnce(ctx, status, object, func(tx *db.Tx) (shown, kept []byte, err error) {
		resource, err := change(tx)
		return resource, resource, err
	})
}

// writeOnce is a write whose answer shows what a replay must not: the replay
// gets what is kept.
func (c *Caller) writeOnce(ctx context.Context, status int, object string, change func(*db.Tx) (shown, kept []byte, err error)) (Response, error) {
	var answer Response
	err := c.Store.Write(ctx, c.actor(), func(tx *db.Tx) error {
		shown, kept, err := change(tx)
		if err != nil {
			return err
		}
		answer = Response{Status: status, ContentType: JSON, Body: objectEnvelope(object, shown)}
		if c.Idempotency == nil {
			return nil
		}
		return tx.StoreResponse(*c.Idempotency, db.IdempotentResponse{Status: status, Body: objectEnvelope(object, kept)})
	})
	return answer, err
}
