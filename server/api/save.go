package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

var errNoDocument = errors.New("a caller from the dashboard needs the document")

// Faults are all that is wrong with what a form sent, in the order of its
// fields; as an error it is the first of them.
type Faults []openapi.ValidationError

func (f Faults) Error() string { return f[0].Message }

// Unwrap is the first fault.
func (f Faults) Unwrap() error { return &f[0] }

// Submit does what an operation of the API does, for a form: it checks the body
// against the document, with Faults for an error, and runs the operation on the
// record with the id, if it is about one. Pages check the caller's role; here
// the plan is checked.
func Submit(ctx context.Context, c *Caller, operation, id string, body map[string]any) (Answer, error) {
	if c.Document == nil {
		return Answer{}, errNoDocument
	}
	op, run := c.Document.Operation(operation), operations[operation]
	if op == nil || run == nil {
		return Answer{}, fmt.Errorf("no operation %q", operation)
	}
	if err := c.permitFeature(op.Feature); err != nil {
		return Answer{}, err
	}
	in := Input{ID: strings.ToLower(id), Body: body}
	if op.Body != nil && (body != nil || !op.BodyOptional) {
		var err error
		if in.Body, err = checked(op.Body, body); err != nil {
			return Answer{}, err
		}
	}
	return run(ctx, c, in)
}

// checked is a body as the schema reads it.
func checked(schema *openapi.Schema, body map[string]any) (map[string]any, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	value, faults := schema.Decode(text)
	if faults != nil {
		return nil, Faults(faults)
	}
	members, _ := value.(map[string]any) // all these schemas are objects'
	return members, nil
}

// Save makes a record (id is "") or changes the members given of the one with
// the id, by the rules of the API or, where the API only reads, of an import.
// What is wrong with a member is told as Faults or as an *Error that names it.
// It returns the record's id; a changed signal is a new record.
func Save(ctx context.Context, c *Caller, object, id string, body map[string]any) (string, error) {
	r := resource.Find(object)
	switch {
	case r == nil || id == "" && !r.Addable || id != "" && !r.Editable:
		return "", &Error{Code: MethodNotAllowed, Message: fmt.Sprintf("records of type %.50q can't be made or changed so", object)}
	case c.Document == nil:
		return "", errNoDocument
	}
	if err := c.permitFeature(r.Feature); err != nil {
		return "", err
	}
	switch {
	case r == resource.KPICheckin:
		return saveCheckin(ctx, c, body)
	case r.Create == "":
		return saveRecord(ctx, c, object, id, body)
	case id == "":
		answer, err := Submit(ctx, c, r.Create, "", body)
		if err != nil {
			return "", err
		}
		return madeID(answer)
	}
	_, err := Submit(ctx, c, r.Update, id, body)
	return id, err
}

// madeID is the id of the record in an answer.
func madeID(answer Answer) (string, error) {
	var envelope struct{ Data struct{ ID string } }
	err := json.Unmarshal(answer.Body, &envelope)
	return envelope.Data.ID, err
}

// checkinPath is where the only point of a batch is told of.
const checkinPath = "checkins[0]"

// saveCheckin records one point; its source is manual by default.
func saveCheckin(ctx context.Context, c *Caller, body map[string]any) (string, error) {
	point := map[string]any{"source": "manual"}
	maps.Copy(point, body)
	answer, err := Submit(ctx, c, resource.KPICheckin.Create, "", map[string]any{"checkins": []any{point}})
	if err != nil {
		return "", ofPoint(err)
	}
	var envelope struct {
		Data struct{ Checkins []struct{ ID string } }
	}
	err = json.Unmarshal(answer.Body, &envelope)
	if err != nil || len(envelope.Data.Checkins) == 0 {
		return "", err
	}
	return envelope.Data.Checkins[0].ID, nil
}

// ofPoint tells of a point what was told of a batch.
func ofPoint(err error) error {
	short := func(text string) string { return strings.TrimPrefix(text, checkinPath+".") }
	if faults, ok := errors.AsType[Faults](err); ok {
		for i, f := range faults {
			faults[i] = openapi.ValidationError{Param: short(f.Param), Message: short(f.Message)}
			if f.Param == checkinPath {
				faults[i] = openapi.ValidationError{Param: "key_result_code", Message: "key_result_code is required"}
			}
		}
		return faults
	}
	if refusal := Refusal(err); strings.HasPrefix(refusal.Param, checkinPath) {
		return &Error{Code: refusal.Code, Param: short(refusal.Param), Message: short(refusal.Message), Err: refusal.Err}
	}
	return err
}

// saveRecord saves a record that the API only reads: the whole record, as it
// will be, must be one that an import takes.
func saveRecord(ctx context.Context, c *Caller, object, id string, body map[string]any) (string, error) {
	fields := FormFields(c.Document, object, id != "")
	for _, member := range slices.Sorted(maps.Keys(body)) {
		if fieldOf(fields, member) < 0 {
			return "", invalid(member, fmt.Sprintf("%.50q is not a known member", member))
		}
	}
	whole := Record{}
	if id != "" {
		var err error
		if whole, err = ReadRecord(ctx, c, object, id); err != nil {
			return "", err
		}
	}
	maps.Copy(whole, body)
	whole["object"] = object
	members, err := checked(c.Document.Record(object), whole)
	if err != nil {
		return "", err
	}
	record := db.Record{}
	for member := range body {
		record[member] = members[member]
	}
	err = c.Store.Write(ctx, c.actor(), func(tx *db.Tx) error {
		id, err = tx.Save(object, id, record)
		return err
	})
	return id, err
}

// Notification is word to an authority about an incident.
type Notification struct {
	At        time.Time
	To        string // one line of at most 500 characters
	Reference string // the same; "" if the authority gave none
}

// notificationMost bounds the texts of a notification in characters.
const notificationMost = 500

// NotifyIncident records that an authority was told of an incident: it sets
// notified_at and puts an entry on the timeline. It may be done again; the
// latest counts, the timeline keeps all. A fault names at, to or reference.
func NotifyIncident(ctx context.Context, c *Caller, id string, n Notification) error {
	if err := c.permitFeature(resource.Incident.Feature); err != nil {
		return err
	}
	n.To, n.Reference = strings.TrimSpace(n.To), strings.TrimSpace(n.Reference)
	var faults Faults
	add := func(param, text string) {
		faults = append(faults, openapi.ValidationError{Param: param, Message: param + " " + text})
	}
	if n.At.IsZero() {
		add("at", "is required")
	}
	if n.To == "" {
		add("to", "is required")
	}
	for _, text := range [][2]string{{"to", n.To}, {"reference", n.Reference}} {
		if !utf8.ValidString(text[1]) || utf8.RuneCountInString(text[1]) > notificationMost || strings.ContainsAny(text[1], "\x00"+lineEnds) {
			add(text[0], fmt.Sprintf("must be one line of at most %d characters", notificationMost))
		}
	}
	if faults != nil {
		return faults
	}
	return c.Store.Write(ctx, c.actor(), func(tx *db.Tx) error {
		return tx.NotifyIncident(id, db.Notification(n))
	})
}
