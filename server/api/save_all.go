package api

import (
	"context"
	"errors"
	"fmt"

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

// RecordChange is a change of one record: the members to set.
type RecordChange struct {
	ID   string
	Body map[string]any
}

// SaveAll changes several records of a type, at most MaxSaveAll, in one transaction: all
// of them change, or none does. The rules are those of Save, and each record has its own
// audit event. An error about one record is a RecordError.
func SaveAll(ctx context.Context, c *Caller, object string, changes []RecordChange) error {
	r := resource.Find(object)
	switch {
	case r == nil || !r.Editable:
		return &Error{Code: MethodNotAllowed, Message: fmt.Sprintf("records of type %.50q can't be changed in this way", object)}
	case c.Document == nil:
		return errNoDocument
	case len(changes) > MaxSaveAll:
		return invalid("ids", fmt.Sprintf("at most %d records can be changed at once", MaxSaveAll))
	}
	if err := c.permitFeature(r.Feature); err != nil {
		return err
	}
	checked := make([]db.Record, len(changes))
	for i, change := range changes {
		var err error
		if checked[i], err = checkedChange(ctx, c, r, change.ID, change.Body); err != nil {
			return &RecordError{change.ID, err}
		}
	}
	return c.Store.Write(ctx, c.actor(), func(tx *db.Tx) error {
		for i, change := range changes {
			if _, err := tx.Update(r, change.ID, checked[i]); err != nil {
				return &RecordError{change.ID, err}
			}
		}
		return nil
	})
}

// FailedRecord returns the id of the record that an error of SaveAll is about, and the
// error without it; "" for other errors.
func FailedRecord(err error) (id string, cause error) {
	if of, ok := errors.AsType[*RecordError](err); ok {
		return of.ID, of.Err
	}
	return "", err
}
