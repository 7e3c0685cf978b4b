package db

// Signals are the current set, one a type, by type (GET /signals): a value that
// is superseded while a reader pages through does not move.
var Signals = Collection{
	Name: "signals", table: "signals", order: "signal_type", upwards: true, only: "current = 1", Since: true,
	Filters: map[string]string{"type": "signal_type"},
}

var signals = noun{
	object: "signal", table: "signals", key: []string{"signal_type", "as_of"}, put: putSignal,
}

// putSignal keeps the values of a type as a history in which the one with the
// latest as_of is current.
func putSignal(tx *Tx, n *noun, record Record) (Outcome, error) {
	asOf, err := columnValue("as_of", record["as_of"])
	if err != nil {
		return Unchanged, err
	}
	var current string
	err = tx.row("SELECT as_of FROM signals WHERE org_id = ? AND signal_type = ? AND current = 1",
		tx.Org, record["signal_type"]).Scan(&current)
	if _, err := absent(err); err != nil {
		return Unchanged, storeError(err)
	}
	if err := tx.keepSignalID(record, asOf); err != nil {
		return Unchanged, err
	}
	delete(record, "current") // ours to say
	switch later := asOf.(string); {
	case later < current:
		if known, err := tx.known(n, record); known || err != nil {
			return Unchanged, err
		}
		record["current"] = false
	case later > current && current != "":
		if _, err := tx.exec("UPDATE signals SET current = 0 WHERE org_id = ? AND signal_type = ? AND current = 1",
			tx.Org, record["signal_type"]); err != nil {
			return Unchanged, err
		}
	}
	outcome, err := tx.putRecord(n, record)
	if current != "" && outcome == Created {
		outcome = Updated
	}
	return outcome, err
}

// keepSignalID drops an id that another value of the type has already: it keeps
// it, and the new value gets one of its own.
func (tx *Tx) keepSignalID(record Record, asOf any) error {
	if record["id"] == nil {
		return nil
	}
	var taken int
	err := tx.row("SELECT 1 FROM signals WHERE org_id = ? AND id = ? AND signal_type = ? AND as_of <> ?",
		tx.Org, record["id"], record["signal_type"], asOf).Scan(&taken)
	if free, err := absent(err); free || err != nil {
		return storeError(err)
	}
	delete(record, "id")
	return nil
}

// known tells whether the history has a value of this instant.
func (tx *Tx) known(n *noun, record Record) (bool, error) {
	_, err := tx.find(n, record)
	if Is(err, NotFound) {
		return false, nil
	}
	return err == nil, err
}
