package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

var errNoDocument = errors.New("a caller from the dashboard needs the document")

// ValidationErrors are all errors of a form, in the order of its fields. As one error,
// they are the first of them.
type ValidationErrors []openapi.ValidationError

func (v ValidationErrors) Error() string { return v[0].Message }

// Unwrap returns the first error.
func (v ValidationErrors) Unwrap() error { return &v[0] }

// Submit runs an operation of the API for a form. It checks the body against the
// document and returns ValidationErrors if it is not valid. id is that of the record that
// the operation is about; "" if there is none. Submit checks the caller's plan. Pages
// check the role.
func Submit(ctx context.Context, c *Caller, operation, id string, body map[string]any) (Result, error) {
	if c.Document == nil {
		return nil, errNoDocument
	}
	op, run := c.Document.Operation(operation), operations[operation]
	if op == nil || run == nil {
		return nil, fmt.Errorf("no operation %q", operation)
	}
	in, err := c.input(op, id, body)
	if err != nil {
		return nil, err
	}
	return run(ctx, c, in)
}

// input checks what a form sends to an operation.
func (c *Caller) input(op *openapi.Operation, id string, body map[string]any) (Input, error) {
	in := Input{ID: strings.ToLower(id), Body: body}
	if err := c.permitFeature(op.Feature); err != nil {
		return in, err
	}
	if op.Body == nil || body == nil && op.BodyOptional {
		return in, nil
	}
	var err error
	in.Body, err = CheckBody(op.Body, body)
	return in, err
}

// CheckBody checks a body as HTTP does. It returns the members as the schema reads
// them, or ValidationErrors.
func CheckBody(schema *openapi.Schema, body map[string]any) (map[string]any, error) {
	var given any // null without a body
	if body != nil {
		given = body
	}
	value, errs := schema.Check(given)
	if errs != nil {
		return nil, ValidationErrors(errs)
	}
	members, _ := value.(map[string]any) // all these schemas are objects'
	return members, nil
}

// Save creates a record (id is "") or changes the given members of the record with the
// id. The rules are those of the API or, for what the API only reads, those of an import.
// An error about members is ValidationErrors, or an *Error that names one. Save returns
// the record's id. A changed signal is a new record.
func Save(ctx context.Context, c *Caller, object, id string, body map[string]any) (string, error) {
	r := resource.Find(object)
	switch {
	case r == nil || id == "" && !r.Addable || id != "" && !r.Editable:
		return "", &Error{Code: MethodNotAllowed, Message: fmt.Sprintf("records of type %.50q can't be created or changed in this way", object)}
	case c.Document == nil:
		return "", errNoDocument
	}
	if err := c.permitFeature(r.Feature); err != nil {
		return "", err
	}
	switch {
	case r == resource.KPICheckin:
		return saveCheckin(ctx, c, body)
	case id != "":
		return updateRecord(ctx, c, r, id, body, "")
	case r.Create == "":
		return createRecord(ctx, c, r, body)
	}
	result, err := Submit(ctx, c, r.Create, "", body)
	if err != nil {
		return "", err
	}
	saved, _ := result.(Object) // as create returns it
	return saved.ID, nil
}

// SaveRead changes a record as Save does. It returns db.ErrChanged if the record has
// changed since it was read with updatedAt.
func SaveRead(ctx context.Context, c *Caller, r *resource.Resource, id string, body map[string]any, updatedAt string) (string, error) {
	if c.Document == nil {
		return "", errNoDocument
	}
	if err := c.permitFeature(r.Feature); err != nil {
		return "", err
	}
	return updateRecord(ctx, c, r, id, body, updatedAt)
}

// checkinPath is the path of the only point of a batch.
const checkinPath = "checkins[0]"

// saveCheckin records one point; its source is manual by default.
func saveCheckin(ctx context.Context, c *Caller, body map[string]any) (string, error) {
	point := map[string]any{"source": "manual"}
	maps.Copy(point, body)
	in, err := c.input(c.Document.Operation(resource.KPICheckin.Create), "", map[string]any{"checkins": []any{point}})
	if err != nil {
		return "", ofPoint(err)
	}
	batch, err := CreateKpiCheckins(ctx, c, in)
	if err != nil {
		return "", ofPoint(err)
	}
	return batch.Checkins[0].ID, nil
}

// ofPoint changes an error about a batch to one about its only point.
func ofPoint(err error) error {
	short := func(text string) string { return strings.TrimPrefix(text, checkinPath+".") }
	if errs, ok := errors.AsType[ValidationErrors](err); ok {
		for i, f := range errs {
			errs[i] = openapi.ValidationError{Param: short(f.Param), Message: short(f.Message)}
			if f.Param == checkinPath {
				errs[i] = openapi.ValidationError{Param: "key_result_code", Message: "key_result_code is required"}
			}
		}
		return errs
	}
	if refusal := Refusal(err); strings.HasPrefix(refusal.Param, checkinPath) {
		return &Error{Code: refusal.Code, Param: short(refusal.Param), Message: short(refusal.Message), Err: refusal.Err}
	}
	return err
}

// createRecord creates a record of a type that the API can only read. An import must
// accept the record.
func createRecord(ctx context.Context, c *Caller, r *resource.Resource, body map[string]any) (string, error) {
	if err := knownMembers(c, r, false, body); err != nil {
		return "", err
	}
	record, err := importable(c, r, Record{}, body)
	if err != nil {
		return "", err
	}
	var saved db.Object
	err = c.Store.Write(ctx, c.actor(), func(tx *db.Tx) (err error) {
		saved, err = tx.Create(r, record)
		return err
	})
	return saved.ID, err
}

// updateRecord changes a record. The members that the API can change must be valid for
// its operation. With the others, an import must accept the complete record as it will be
// stored. updatedAt is that of the record when it was read; "" if that does not matter.
func updateRecord(ctx context.Context, c *Caller, r *resource.Resource, id string, body map[string]any, updatedAt string) (string, error) {
	id = strings.ToLower(id)
	record, err := checkedChange(ctx, c, r, id, body)
	if err != nil {
		return "", err
	}
	var saved db.Object
	err = c.Store.Write(ctx, c.actor(), func(tx *db.Tx) (err error) {
		if updatedAt != "" {
			if err := tx.CheckUnchanged(r, id, updatedAt); err != nil {
				return err
			}
		}
		saved, err = tx.Update(r, id, record)
		return err
	})
	return saved.ID, err
}

// checkedChange returns the members of a change of a record as they are stored.
func checkedChange(ctx context.Context, c *Caller, r *resource.Resource, id string, body map[string]any) (db.Record, error) {
	if err := knownMembers(c, r, true, body); err != nil {
		return nil, err
	}
	record, further := db.Record{}, map[string]any{}
	maps.Copy(further, body)
	if op := c.Document.Operation(r.Update); op != nil {
		own := map[string]any{}
		for _, f := range c.Document.Fields(r.Update) {
			if value, given := body[f.Name]; given {
				own[f.Name] = value
				delete(further, f.Name)
			}
		}
		members, err := CheckBody(op.Body, own)
		if err != nil {
			return nil, err
		}
		maps.Copy(record, members)
	}
	if len(further) > 0 {
		whole, err := ReadRecord(ctx, c, r.Type, id)
		if err != nil {
			return nil, err
		}
		members, err := importable(c, r, whole, further)
		if err != nil {
			return nil, err
		}
		maps.Copy(record, members)
	}
	return record, nil
}

// knownMembers refuses members that a form does not ask for.
func knownMembers(c *Caller, r *resource.Resource, changing bool, body map[string]any) error {
	fields := FormFields(c.Document, r.Type, changing)
	for _, member := range slices.Sorted(maps.Keys(body)) {
		if fieldOf(fields, member) < 0 {
			return invalid(member, fmt.Sprintf("%.50q is not a known member", member))
		}
	}
	return nil
}

// importable checks a record with new members as an import does, and returns these
// members as the schema reads them.
func importable(c *Caller, r *resource.Resource, whole Record, body map[string]any) (db.Record, error) {
	maps.Copy(whole, body)
	whole["object"] = r.Type
	members, err := CheckBody(c.Document.Record(r.Type), whole)
	if err != nil {
		return nil, err
	}
	record := db.Record{}
	for member := range body {
		record[member] = members[member]
	}
	return record, nil
}
