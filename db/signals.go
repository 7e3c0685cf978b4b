package db

import (
	"reflect"
	"slices"

	"govsvc/db/resource"
)

var signals = stored(resource.Signal)

func init() {
	signals.hooks = hooks{listed: "current = 1", put: putSignal}
}

// putSignal keeps the values of a type as a history in which the one with the
// latest as_of is current. A value that supersedes another one is a change of
// the signal.
func putSignal(tx *Tx, r *storedResource, record Record) (PutResult, error) {
	asOf, err := r.columnValue("as_of", record["as_of"])
	if err != nil {
		return PutResult{}, err
	}
	present, err := tx.readRow(tx.db.selectRow(r)+" WHERE org_id = ? AND signal_type = ? AND current = 1", tx.Org, record["signal_type"])
	if err != nil && !Is(err, NotFound) {
		return PutResult{}, err
	}
	current := present.text(tx.db, r.Table, "as_of")
	if err := tx.keepSignalID(record, asOf); err != nil {
		return PutResult{}, err
	}
	delete(record, "current") // ours to say
	supersedes := false
	switch later := asOf.(string); {
	case later < current:
		if known, err := tx.known(r, record); known || err != nil {
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
	done, err := tx.putRecord(r, record)
	if current != "" && done.Outcome == Created {
		done.Outcome = Updated
		if supersedes && done.Changes != nil {
			done.Changes = tx.superseded(r, present, done.Changes)
		}
	}
	return done, err
}

// superseded is how a new row, whose members are given, differs from the one
// whose place it takes.
func (tx *Tx) superseded(r *storedResource, before storedRow, given Changes) Changes {
	changes := Changes{}
	for i, column := range tx.db.columns[r.Table] {
		if !settable(column) || slices.Contains(r.Internal, column) {
			continue
		}
		change := Change{From: r.memberValue(column, before.values[i]), To: given[column].To}
		if !reflect.DeepEqual(change.From, change.To) {
			changes[column] = change
		}
	}
	return changes
}

// keepSignalID drops an id that another value of the type has already: it keeps
// it, and the new value gets one of its own.
func (tx *Tx) keepSignalID(record Record, asOf any) error {
	if record["id"] == nil {
		return nil
	}
	var taken int
	err := tx.Row("SELECT 1 FROM signals WHERE org_id = ? AND id = ? AND signal_type = ? AND as_of <> ?",
		tx.Org, record["id"], record["signal_type"], asOf).Scan(&taken)
	if free, err := absent(err); free || err != nil {
		return storeError(err)
	}
	delete(record, "id")
	return nil
}

// known tells whether the history has a value of this instant.
func (tx *Tx) known(r *storedResource, record Record) (bool, error) {
	_, err := tx.find(r, record)
	if Is(err, NotFound) {
		return false, nil
	}
	return err == nil, err
}
