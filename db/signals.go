package db

import (
	"maps"
	"reflect"
	"slices"

	"govsvc/db/audit"
	"govsvc/db/resource"
)

var signals = stored(resource.Signal)

func init() {
	signals.hooks = hooks{put: putSignal, create: createSignal, update: updateSignal}
}

// putSignal stores the values of a type as a history. The one with the latest as_of
// is current. A value that supersedes another one is a change of the signal.
func putSignal(tx *Tx, r *storedResource, record Record) (PutResult, error) {
	asOf, err := r.columnValue("as_of", record["as_of"])
	if err != nil {
		return PutResult{}, err
	}
	present, err := readRow(tx, r, selectRow(tx.db, r)+" WHERE org_id = ? AND signal_type = ? AND current = 1", tx.Org, record["signal_type"])
	if err != nil && !Is(err, NotFound) {
		return PutResult{}, err
	}
	current := present.text("as_of")
	if err := keepSignalID(tx, record, asOf); err != nil {
		return PutResult{}, err
	}
	delete(record, "current") // only the store sets it
	supersedes := false
	switch later := asOf.(string); {
	case later < current:
		if known, err := isKnownSignal(tx, r, record); known || err != nil {
			return PutResult{}, err
		}
		record["current"] = false
	case later > current && current != "":
		supersedes = true
		if _, err := tx.Exec("UPDATE signals SET current = 0 WHERE org_id = ? AND signal_type = ? AND current = 1",
			tx.Org, record["signal_type"]); err != nil {
			return PutResult{}, err
		}
	}
	done, err := putRecord(tx, r, record)
	if current != "" && done.Outcome == Created {
		done.Outcome = Updated
		if supersedes && done.Changes != nil {
			done.Changes = supersededChanges(tx, r, present, done.Changes)
		}
	}
	return done, err
}

// supersededChanges returns how a new row, whose members are given, differs from the
// one that it replaces.
func supersededChanges(tx *Tx, r *storedResource, before storedRow, given audit.Changes) audit.Changes {
	changes := audit.Changes{}
	for i, column := range tx.db.columns[r.Table] {
		if !settable(column) || slices.Contains(r.Internal, column) {
			continue
		}
		change := audit.Change{From: r.memberValue(column, before.values[i]), To: given[column].To}
		if !reflect.DeepEqual(change.From, change.To) {
			changes[column] = change
		}
	}
	return changes
}

// keepSignalID removes the id from a record if another value of the type has it. The
// new value then gets a new id.
func keepSignalID(tx *Tx, record Record, asOf any) error {
	if record["id"] == nil {
		return nil
	}
	var taken int
	err := tx.Row("SELECT 1 FROM signals WHERE org_id = ? AND id = ? AND signal_type = ? AND as_of <> ?",
		tx.Org, record["id"], record["signal_type"], asOf).Scan(&taken)
	if free, err := Absent(err); free || err != nil {
		return StoreError(err)
	}
	delete(record, "id")
	return nil
}

// isKnownSignal reports whether the history has a value of this instant.
func isKnownSignal(tx *Tx, r *storedResource, record Record) (bool, error) {
	_, err := findRow(tx, r, record)
	if Is(err, NotFound) {
		return false, nil
	}
	return err == nil, err
}

// createSignal adds a value of a signal. It supersedes the present value of the
// type, or corrects it if it is of the same instant.
func createSignal(tx *Tx, r *storedResource, record Record) (storedRow, error) {
	present, err := readRecord(tx, r, "org_id = ? AND signal_type = ? AND current = 1", tx.Org, record["signal_type"])
	if err != nil && !Is(err, NotFound) {
		return present, err
	}
	return saveSignal(tx, r, present, record)
}

// updateSignal does the same for the type of a present value. Members that are
// not given stay as they are.
func updateSignal(tx *Tx, r *storedResource, id string, record Record) (storedRow, error) {
	present, err := readByID(tx, r, id)
	switch {
	case err != nil:
		return present, err
	case present.members == nil:
		return present, &Error{Code: Conflict, Message: "this value was superseded; change the current one"}
	}
	if err := keepMember(record, present, "signal_type"); err != nil {
		return present, err
	}
	whole := maps.Clone(present.members)
	maps.Copy(whole, record)
	for _, member := range []string{"object", "id", "created_at", "updated_at"} {
		delete(whole, member)
	}
	maps.Copy(record, whole)
	return saveSignal(tx, r, present, record)
}

// saveSignal puts a value that is not older than the present one; present is zero
// if there is none.
func saveSignal(tx *Tx, r *storedResource, present storedRow, record Record) (storedRow, error) {
	verb := "created"
	if present.seq != 0 {
		verb = "updated"
		if err := laterThan(present, record); err != nil {
			return present, err
		}
	}
	done, err := putSignal(tx, r, record)
	if err != nil || done.Outcome == Unchanged {
		return present, err
	}
	now, err := readByID(tx, r, done.ID)
	if err != nil {
		return now, err
	}
	return now, auditDifference(tx, r, verb, present, now)
}

// laterThan returns an error for a value that is older than the current one, because the
// API can't add values to the history.
func laterThan(present storedRow, record Record) error {
	asOf, err := signals.columnValue("as_of", record["as_of"])
	if err != nil {
		return err
	}
	if present := present.text("as_of"); asOf.(string) < present {
		return &Error{Code: Invalid, Param: "as_of", Message: "as_of must not be before that of the current value, " + present}
	}
	return nil
}
