package db

import (
	"encoding/json"
	"time"
)

// Incidents are newest first (GET /incidents).
var Incidents = Collection{
	Name: "incidents", table: "incidents", newest: "created_at", Since: true,
	Filters: map[string]string{"severity": "severity", "status": "status"},
}

var incidents = noun{object: "incident", table: "incidents", put: putIncident}

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
		if !given {
			err = tx.startTimeline(known.seq)
		}
		if err != nil {
			return Unchanged, err
		}
	} else if outcome, err = tx.replaceIncident(n, known, record, given); err != nil {
		return Unchanged, err
	}
	if given {
		moved, err := tx.setTimeline(known.seq, timeline)
		if err != nil {
			return Unchanged, err
		}
		if moved && outcome == Unchanged {
			outcome = Updated
			if _, err := tx.exec("UPDATE incidents SET updated_at = ? WHERE seq = ?", tx.stamp(record, "updated_at"), known.seq); err != nil {
				return Unchanged, err
			}
		}
	}
	return outcome, tx.startClock(known.seq)
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

// replaceIncident changes an incident and, where the record brings no timeline
// of its own, logs a change of status.
func (tx *Tx) replaceIncident(n *noun, known stored, record Record, timeline bool) (Outcome, error) {
	var before, after struct{ Status string }
	outcome, err := tx.replace(n, known, record)
	if err != nil || outcome == Unchanged || timeline {
		return outcome, err
	}
	if err := json.Unmarshal(known.resource, &before); err != nil {
		return outcome, err
	}
	err = tx.row("SELECT status FROM incidents WHERE seq = ?", known.seq).Scan(&after.Status)
	if err != nil || before.Status == after.Status {
		return outcome, storeError(err)
	}
	return outcome, tx.logStatus(known.seq, tx.At(), after.Status, nil)
}

// startTimeline logs the declaration.
func (tx *Tx) startTimeline(incident int64) error {
	_, err := tx.exec(`INSERT INTO incident_timeline (incident_seq, at, status, note, actor)
		SELECT seq, created_at, status, 'Incident declared', ? FROM incidents WHERE seq = ?`, tx.Actor, incident)
	return err
}

// logStatus logs a change of status.
func (tx *Tx) logStatus(incident int64, at, status string, note any) error {
	_, err := tx.exec("INSERT INTO incident_timeline (incident_seq, at, status, note, actor) VALUES (?, ?, ?, ?, ?)",
		incident, at, status, note, tx.Actor)
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
