package db

import (
	"encoding/json"
	"slices"
	"time"

	"govsvc/db/resource"
	"govsvc/db/sqlite"
)

var incidents = stored(resource.Incident)

func init() {
	incidents.hooks = hooks{put: putIncident, find: (*Tx).findIncident, afterWrite: incidentWritten}
}

// notificationPeriod is how long after its declaration an incident that needs
// a notification may go without one, where no deadline is given.
const notificationPeriod = 72 * time.Hour

// putIncident finds an incident by its id or its key, and keeps its timeline.
func putIncident(tx *Tx, r *storedResource, record Record) (PutResult, error) {
	known, err := tx.findIncident(r, record)
	if err != nil {
		return PutResult{}, err
	}
	if known.seq == 0 {
		return tx.importIncident(r, record)
	}
	if !tx.first(r, known.seq) {
		return PutResult{Outcome: Repeated, ID: known.id}, nil
	}
	tx.keepDeadline(known, record)
	done, err := tx.amend(r, known, record)
	timeline, given := record["timeline"].([]any)
	if err != nil || !given {
		return done, err
	}
	change, moved, err := tx.setTimeline(known.seq, timeline)
	if err != nil || !moved {
		return done, err
	}
	if done.Outcome == Unchanged {
		done.Outcome, done.Changes = Updated, Changes{}
		if _, err := tx.Exec("UPDATE incidents SET updated_at = iif(?2 > updated_at, ?2, ?3) WHERE seq = ?1", known.seq, tx.stamp(record, "updated_at"), tx.At()); err != nil {
			return done, err
		}
	}
	done.Changes["timeline"] = change
	return done, nil
}

// importIncident makes an incident, with the timeline that its record gives or
// one that starts with the declaration.
func (tx *Tx) importIncident(r *storedResource, record Record) (PutResult, error) {
	made, _, err := tx.insert(r, record, nil)
	if err != nil {
		return PutResult{}, err
	}
	tx.first(r, made.seq)
	done := PutResult{Outcome: Created, ID: made.id, Changes: made.changes}
	if timeline, given := record["timeline"].([]any); given {
		var change Change
		var moved bool
		change, moved, err = tx.setTimeline(made.seq, timeline)
		if done.Changes != nil && moved {
			done.Changes["timeline"] = change
		}
	} else {
		err = tx.startTimeline(made.seq)
	}
	if err != nil {
		return done, err
	}
	return done, tx.startClock(made.seq, done.Changes)
}

// keepDeadline drops an empty deadline from a record of a known incident that
// needs a notification: the clock has set one, and would again.
func (tx *Tx) keepDeadline(known storedRow, record Record) {
	if deadline, given := record["notification_deadline"]; !given || deadline != nil {
		return
	}
	required, given := record["notification_required"].(bool)
	if !given {
		required = known.value(tx.db, "incidents", "notification_required") == int64(1)
	}
	if required {
		delete(record, "notification_deadline")
	}
}

func (tx *Tx) findIncident(r *storedResource, record Record) (storedRow, error) {
	var found []storedRow
	id, key := record["id"], record["incident_key"]
	if id == nil && key == nil {
		return storedRow{}, &Error{Code: Invalid, Param: "incident_key", Message: "incident_key or id is required: without one the incident can't be found again"}
	}
	columns := tx.db.selectRow(r)
	err := tx.Each(func(row Scanner) error {
		s := storedRow{values: slices.Clone(row.(sqlite.Values)[2:])}
		err := row.(sqlite.Values)[:2].Scan(&s.seq, &s.id)
		found = append(found, s)
		return err
	}, columns+" WHERE org_id = ?1 AND id = ?2 UNION "+columns+" WHERE org_id = ?1 AND incident_key = ?3", tx.Org, id, key)
	switch {
	case err != nil || len(found) == 0:
		return storedRow{}, err
	case len(found) > 1:
		return storedRow{}, &Error{Code: Invalid, Param: "incident_key", Message: "id and incident_key are those of two different incidents"}
	}
	return found[0], nil
}

// incidentWritten logs a change of status, unless the record brings a timeline
// of its own, and starts the notification clock if it is needed now.
func incidentWritten(tx *Tx, w writtenRecord) error {
	before, err := tx.statusOf(w.before)
	if err != nil {
		return err
	}
	_, own := w.record["timeline"]
	if after, given := w.record["status"]; given && !own && before != after {
		if _, err := tx.Exec("INSERT INTO incident_timeline (incident_seq, at, status, actor) VALUES (?, ?, ?, ?)",
			w.seq, tx.At(), after, tx.ID); err != nil {
			return err
		}
	}
	return tx.startClock(w.seq, w.changes)
}

// statusOf is the status that an incident had when it was read.
func (tx *Tx) statusOf(known storedRow) (string, error) {
	if known.values != nil {
		return known.text(tx.db, "incidents", "status"), nil
	}
	var before struct{ Status string }
	err := json.Unmarshal(known.resource, &before)
	return before.Status, err
}

// startTimeline logs the declaration.
func (tx *Tx) startTimeline(incident int64) error {
	_, err := tx.Exec(`INSERT INTO incident_timeline (incident_seq, at, status, note, actor)
		SELECT seq, created_at, status, 'Incident declared', ? FROM incidents WHERE seq = ?`, tx.ID, incident)
	return err
}

// setTimeline makes an incident's timeline the one given, if it is another, and
// returns what it changed.
func (tx *Tx) setTimeline(incident int64, timeline []any) (change Change, moved bool, err error) {
	entries := make([][4]any, len(timeline))
	for i, value := range timeline {
		entry := value.(map[string]any)
		at, err := time.Parse(time.RFC3339, entry["at"].(string))
		if err != nil {
			return change, false, &Error{Code: Invalid, Param: "timeline", Message: "timeline's instants must be RFC 3339 timestamps"}
		}
		entries[i] = [4]any{Timestamp(at), entry["status"], entry["note"], entry["actor"]}
	}
	var known [][4]any
	err = tx.Each(func(row Scanner) error {
		var e [4]any
		err := row.Scan(&e[0], &e[1], &e[2], &e[3])
		known = append(known, e)
		return err
	}, "SELECT at, status, note, actor FROM incident_timeline WHERE incident_seq = ? ORDER BY seq", incident)
	if err != nil || equalRows(known, entries) {
		return change, false, err
	}
	if _, err := tx.Exec("DELETE FROM incident_timeline WHERE incident_seq = ?", incident); err != nil {
		return change, false, err
	}
	for _, e := range entries {
		if _, err := tx.Exec("INSERT INTO incident_timeline (incident_seq, at, status, note, actor) VALUES (?, ?, ?, ?, ?)",
			incident, e[0], e[1], e[2], e[3]); err != nil {
			return change, false, err
		}
	}
	return Change{From: timelineSteps(known), To: timelineSteps(entries)}, true, nil
}

// timelineSteps are the entries of a timeline as members of a record; nil for
// none.
func timelineSteps(entries [][4]any) any {
	if len(entries) == 0 {
		return nil
	}
	steps := make([]any, len(entries))
	for i, e := range entries {
		steps[i] = map[string]any{"at": e[0], "status": e[1], "note": e[2], "actor": e[3]}
	}
	return steps
}

func equalRows(a, b [][4]any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// startClock gives an incident that needs a notification its deadline, if it
// has none: 72 hours after the declaration (contract, section 4). It adds the
// deadline to the changes of an import, which are nil outside of one.
func (tx *Tx) startClock(incident int64, changes Changes) error {
	var declared string
	err := tx.Row("SELECT created_at FROM incidents WHERE seq = ? AND notification_required AND notification_deadline IS NULL", incident).Scan(&declared)
	if running, err := absent(err); running || err != nil {
		return storeError(err)
	}
	at, err := ParseTimestamp(declared)
	if err != nil {
		return err
	}
	deadline := Timestamp(at.Add(notificationPeriod))
	if changes != nil {
		changes["notification_deadline"] = Change{From: changes["notification_deadline"].From, To: deadline}
	}
	_, err = tx.Exec("UPDATE incidents SET notification_deadline = ? WHERE seq = ?", deadline, incident)
	return err
}

// CreateIncident declares an incident and starts its timeline and its
// notification clock.
func (tx *Tx) CreateIncident(record Record) ([]byte, error) {
	made, _, err := tx.insert(incidents, record, nil)
	if err != nil {
		return nil, err
	}
	if err := tx.startTimeline(made.seq); err != nil {
		return nil, err
	}
	if err := tx.startClock(made.seq, nil); err != nil {
		return nil, err
	}
	if err := tx.auditDifference(incidents, "created", made.id, nil, nil); err != nil {
		return nil, err
	}
	now, err := tx.byID(incidents, made.id)
	return now.resource, err
}

// UpdateIncident changes an incident, and logs a change of its status on its
// timeline.
func (tx *Tx) UpdateIncident(id string, record Record) ([]byte, error) {
	if err := tx.clearDeadline(id, record); err != nil {
		return nil, err
	}
	changed, err := tx.update(incidents, id, record, nil)
	return changed.resource, err
}

// clearDeadline makes an empty deadline, where a notification is required, the
// one that the clock sets: so a change that clears nothing is none.
func (tx *Tx) clearDeadline(id string, record Record) error {
	if deadline, given := record["notification_deadline"]; !given || deadline != nil {
		return nil
	}
	known, err := tx.byID(incidents, id)
	if err != nil {
		return err
	}
	var now struct {
		Required bool   `json:"notification_required"`
		Declared string `json:"created_at"`
	}
	if err := json.Unmarshal(known.resource, &now); err != nil {
		return err
	}
	if required, given := record["notification_required"].(bool); given {
		now.Required = required
	}
	if !now.Required {
		return nil
	}
	at, err := ParseTimestamp(now.Declared)
	record["notification_deadline"] = Timestamp(at.Add(notificationPeriod))
	return err
}
