package api

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"govsvc/db"
	"govsvc/db/resource"
)

// MaxSaveAll bounds the records of SaveAll.
const MaxSaveAll = 500

// RecordError is the error of one of several records.
type RecordError struct {
	ID  string
	Err error
}

func (e *RecordError) Error() string { return e.ID + ": " + e.Err.Error() }

// Unwrap returns the error without the record.
func (e *RecordError) Unwrap() error { return e.Err }

// SaveAll changes the same members of several records, at most MaxSaveAll, in one
// transaction: all of them change, or none does. The rules are those of Save, and each
// record has its own audit event. An error about one record is a RecordError.
func SaveAll(ctx context.Context, c *Caller, object string, ids []string, body map[string]any) error {
	r := resource.Find(object)
	switch {
	case r == nil || !r.Editable:
		return &Error{Code: MethodNotAllowed, Message: fmt.Sprintf("records of type %.50q can't be changed in this way", object)}
	case c.Document == nil:
		return errNoDocument
	case len(ids) > MaxSaveAll:
		return invalid("ids", fmt.Sprintf("at most %d records can be changed at once", MaxSaveAll))
	}
	if err := c.permitFeature(r.Feature); err != nil {
		return err
	}
	changes := make([]db.Record, len(ids))
	for i, id := range ids {
		var err error
		if changes[i], err = c.checkedChange(ctx, r, id, body); err != nil {
			return &RecordError{id, err}
		}
	}
	return c.Store.Write(ctx, c.actor(), func(tx *db.Tx) error {
		for i, id := range ids {
			if _, err := tx.Update(r, id, changes[i]); err != nil {
				return &RecordError{id, err}
			}
		}
		return nil
	})
}

// checkedChange returns the members of a change as Save stores them.
func (c *Caller) checkedChange(ctx context.Context, r *resource.Resource, id string, body map[string]any) (db.Record, error) {
	if r.Update == "" {
		return c.importedChange(ctx, r, id, body)
	}
	in, err := c.input(c.Document.Operation(r.Update), id, maps.Clone(body))
	return in.record(), err
}

// FailedRecord returns the id of the record that an error of SaveAll is about, and the
// error without it; "" for other errors.
func FailedRecord(err error) (id string, cause error) {
	if of, ok := errors.AsType[*RecordError](err); ok {
		return of.ID, of.Err
	}
	return "", err
}
