package api

import (
	"context"

	"govsvc/db"
	"govsvc/db/resource"
)

// create makes the operation that creates a record of a resource.
func create(r *resource.Resource) Operation {
	return func(ctx context.Context, c *Caller, in Input) (Result, error) {
		return write(ctx, c, func(tx *db.Tx) (Object, error) {
			made, err := tx.Create(r, in.record())
			return Object{201, r.Type, made.ID, made.JSON}, err
		})
	}
}

// update makes the operation that changes a record of a resource.
func update(r *resource.Resource) Operation {
	return func(ctx context.Context, c *Caller, in Input) (Result, error) {
		return write(ctx, c, func(tx *db.Tx) (Object, error) {
			changed, err := tx.Update(r, in.ID, in.record())
			return Object{200, r.Type, changed.ID, changed.JSON}, err
		})
	}
}

// write runs a change, which may be called again after a rollback. It stores the
// response with it, if the request has an idempotency key.
func write[R Result](ctx context.Context, c *Caller, change func(*db.Tx) (R, error)) (R, error) {
	var result R
	err := c.Store.WriteRepeatable(ctx, c.actor(), func(tx *db.Tx) (err error) {
		if result, err = change(tx); err != nil || c.Idempotency == nil {
			return err
		}
		stored := replayed(result).Response()
		return tx.StoreResponse(*c.Idempotency, db.IdempotentResponse{Status: stored.Status, Body: stored.Body})
	})
	return result, err
}

// replayed returns what a repetition of the request gets.
func replayed(result Result) Result {
	if once, ok := result.(interface{ Replayed() Result }); ok {
		return once.Replayed()
	}
	return result
}
