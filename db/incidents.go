package db

import (
	"encoding/json"
	"time"
)

// Incidents are newest first (GET /incidents).
var Incidents = Collection{
	Name: "incidents", table: "incidents", order: "created_at", Since: true,
	Filters: map[string]string{"severity": "severity", "status": "status"},
}

var incidents = noun{object: "incident", table: "incidents", put: putIncident, find: (*Tx).findIncident, written: incidentWritten}

// notificationPeriod is how long after its declaration an incident that needs
// a notification may go without one, where no deadline is given.
const notificationPeriod = 72 * time.Hour

// putIncident finds an incident by its id or its key, and keeps its timeline.
func putIncident(tx *Tx, n *noun, record Record) (Outcome, error) {
	known, err := tx.findIncident(record)
	if err != nil {
		return Unchanged, err
	}
	timeline, given := record["timeline"].([]any)
	outcome := Created
	if known.seq == 0 {
		made, _, err := tx.insert(n, record, nil)
		if err != nil {
			return Unchanged, err
		}
		known = made
		tx.first(n, known.seq)
		if !given {
			err = tx.startTimeline(known.seq)
		}
		if err != nil {
			return Unchanged, err
		}
		if err := tx.startClock(known.seq); err != nil {
			return Unchanged, err
		}
	} else {
		if !tx.first(n, known.seq) {
			return Repeated, nil
		}
		if err := keepDeadline(known, record); err != nil {
			return Unchanged, err
		}
		if outcome, err = tx.replace(n, known, record); err != nil {
			return Unchanged, err
		}
	}
	if given {
		moved, err := tx.setTimeline(known.seq, timeline)
		if err != nil {
			return Unchanged, err
		}
		if moved && outcome == Unchanged {
			outcome = Updated
			if _, err := tx.exec("UPDATE incidents SET updated_at = iif(?2 > updated_at, ?2, ?3) WHERE seq = ?1", known.seq, tx.stamp(record, "updated_at"), tx.At()); err != nil {
				return Unchanged, err
			}
		}
	}
	return outcome, nil
}

// keepDeadline drops an empty deadline from a record of a known incident that
// needs a notification: the clock has set one, and would again.
func keepDeadline(known stored, record Record) error {
	if deadline, given := record["notification_deadline"]; !given || deadline != nil {
		return nil
	}
	var now struct {
		Required bool `json:"notification_required"`
	}
	if err := json.Unmarshal(known.resource, &now); err != nil {
		return err
	}
	if required, given := record["notification_required"].(bool); given {
		now.Required = required
	}
	if now.Required {
		delete(record, "notification_deadline")
	}
	return nil
}

func (tx *Tx) findIncident(record Record) (stored, error) {
	var found []stored
	id, key := record["id"], record["incident_key"]
	if id == nil && key == nil {
		return stored{}, &Error{Code: Invalid, Param: "incident_key", Message: "incident_key or id is required: without one the incident can't be found again"}
	}
	err := tx.rows(func(row scanner) error {
		var s stored
		err := row.Scan(&s.seq, &s.id, &s.resource)
		found = append(found, s)
		return err
	}, `SELECT seq, id, resource FROM incidents WHERE org_id = ?1 AND id = ?2
		UNION SELECT seq, id, resource FROM incidents WHERE org_id = ?1 AND incident_key = ?3`, tx.Org, id, key)
	switch {
	case err != nil || len(found) == 0:
		return stored{}, err
	case len(found) > 1:
		return stored{}, &Error{Code: Invalid, Param: "incident_key", Message: "id and incident_key are those of two different incidents"}
	}
	return found[0], nil
}

// incidentWritten logs a change of status, unless the record brings a timeline
// of its own, and starts the notification clock if it is needed now.
func incidentWritten(tx *Tx, w written) error {
	var before, after struct{ Status string }
	if err := json.Unmarshal(w.before, &before); err != nil {
		return err
	}
	resource, err := tx.resource(w.noun, w.seq)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(resource, &after); err != nil {
		return err
	}
	if _, given := w.record["timeline"]; !given && before.Status != after.Status {
		if _, err := tx.exec("INSERT INTO incident_timeline (incident_seq, at, status, actor) VALUES (?, ?, ?, ?)",
			w.seq, tx.At(), after.Status, tx.Actor); err != nil {
			return err
		}
	}
	return tx.startClock(w.seq)
}

// startTimeline logs the declaration.
func (tx *Tx) startTimeline(incident int64) error {
	_, err := tx.exec(`INSERT INTO incident_timeline (incident_seq, at, status, note, actor)
		SELECT seq, created_at, status, 'Incident declared', ? FROM incidents WHERE seq = ?`, tx.Actor, incident)
	return err
}

// setTimeline makes an incident's timeline the one given, if it is another.
func (tx *Tx) setTimeline(incident int64, timeline []any) (moved bool, err error) {
	entries := make([][4]any, len(timeline))
	for i, value := range timeline {
		entry := value.(map[string]any)
		at, err := time.Parse(time.RFC3339, entry["at"].(string))
		if err != nil {
			return false, &Error{Code: Invalid, Param: "timeline", Message: "timeline's instants must be RFC 3339 timestamps"}
		}
		entries[i] = [4]any{Timestamp(at), entry["status"], entry["note"], entry["actor"]}
	}
	var known [][4]any
	err = tx.rows(func(row scanner) error {
		var e [4]any
		err := row.Scan(&e[0], &e[1], &e[2], &e[3])
		known = append(known, e)
		return err
	}, "SELECT at, status, note, actor FROM incident_timeline WHERE incident_seq = ? ORDER BY seq", incident)
	if err != nil || equalRows(known, entries) {
		return false, err
	}
	if _, err := tx.exec("DELETE FROM incident_timeline WHERE incident_seq = ?", incident); err != nil {
		return false, err
	}
	for _, e := range entries {
		if _, err := tx.exec("INSERT INTO incident_timeline (incident_seq, at, status, note, actor) VALUES (?, ?, ?, ?, ?)",
			incident, e[0], e[1], e[2], e[3]); err != nil {
			return false, err
		}
	}
	return true, nil
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
// has none: 72 hours after the declaration (contract, section 4).
func (tx *Tx) startClock(incident int64) error {
	var declared string
	err := tx.row("SELECT created_at FROM incidents WHERE seq = ? AND notification_required AND notification_deadline IS NULL", incident).Scan(&declared)
	if running, err := absent(err); running || err != nil {
		return storeError(err)
	}
	at, err := ParseTimestamp(declared)
	if err != nil {
		return err
	}
	_, err = tx.exec("UPDATE incidents SET notification_deadline = ? WHERE seq = ?", Timestamp(at.Add(notificationPeriod)), incident)
	return err
}

// CreateIncident declares an incident and starts its timeline and its
// notification clock.
func (tx *Tx) CreateIncident(record Record) ([]byte, error) {
	made, _, err := tx.insert(&incidents, record, nil)
	if err != nil {
		return nil, err
	}
	if err := tx.startTimeline(made.seq); err != nil {
		return nil, err
	}
	if err := tx.startClock(made.seq); err != nil {
		return nil, err
	}
	if err := tx.auditDifference(&incidents, "created", made.id, nil, nil); err != nil {
		return nil, err
	}
	now, err := tx.byID(&incidents, made.id)
	return now.resource, err
}

// UpdateIncident changes an incident, and logs a change of its status on its
// timeline.
func (tx *Tx) UpdateIncident(id string, record Record) ([]byte, error) {
	if err := tx.clearDeadline(id, record); err != nil {
		return nil, err
	}
	changed, err := tx.update(&incidents, id, record, nil)
	return changed.resource, err
}

// clearDeadline makes an empty deadline, where a notification is required, the
// one that the clock sets: so a change that clears nothing is none.
func (tx *Tx) clearDeadline(id string, record Record) error {
	if deadline, given := record["notification_deadline"]; !given || deadline != nil {
		return nil
	}
	known, err := tx.byID(&incidents, id)
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
