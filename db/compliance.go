package db

import (
	"encoding/json"

	"govsvc/db/resource"
)

// EventPostureChanged is the event of compliance postures.
const EventPostureChanged = "compliance.posture_changed"

func init() {
	declareEvents(EventPostureChanged)
	stored(resource.CompliancePosture).hooks = hooks{afterWrite: postureWritten, readsOthers: true}
}

// posture has the members of a compliance posture that an event compares.
type posture struct {
	ID      string `json:"id"`
	Version int64  `json:"version_number"`
	Overall string `json:"overall_posture"`
	Regimes []struct {
		ID      string `json:"regime_id"`
		Posture string `json:"posture"`
	} `json:"regimes"`
}

type postureData struct {
	PostureID string  `json:"posture_id"`
	Version   int64   `json:"version_number"`
	Scope     string  `json:"scope"`
	RegimeID  *string `json:"regime_id"`
	Previous  string  `json:"previous"`
	Current   string  `json:"current"`
}

// postureWritten enqueues compliance.posture_changed for each difference between a
// posture that is newer than all others and the one before it.
func postureWritten(tx *Tx, w writtenRecord) error {
	if w.outcome != Created {
		return nil
	}
	var now, before posture
	object, err := readObject(tx, w)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(object, &now); err != nil {
		return err
	}
	var previous []byte
	err = tx.Row(`SELECT resource FROM compliance_postures WHERE org_id = ? AND seq <> ?
		ORDER BY version_number DESC LIMIT 1`, tx.Org, w.row.seq).Scan(&previous)
	if first, err := Absent(err); first || err != nil {
		return StoreError(err)
	}
	if err := json.Unmarshal(previous, &before); err != nil || before.Version > now.Version {
		return err
	}
	for _, movement := range movements(before, now) {
		if err := tx.Enqueue(EventPostureChanged, movement); err != nil {
			return err
		}
	}
	return nil
}

// movements lists the differences: overall first, then each regime that both have.
func movements(before, now posture) []postureData {
	var moved []postureData
	add := func(scope string, regime *string, from, to string) {
		if from != to {
			moved = append(moved, postureData{now.ID, now.Version, scope, regime, from, to})
		}
	}
	add("overall", nil, before.Overall, now.Overall)
	was := map[string]string{}
	for _, regime := range before.Regimes {
		was[regime.ID] = regime.Posture
	}
	for i := range now.Regimes {
		regime := &now.Regimes[i]
		if from, known := was[regime.ID]; known {
			add("regime", &regime.ID, from, regime.Posture)
		}
	}
	return moved
}
