package db

import (
	"encoding/json"
	"fmt"
	"slices"

	"govsvc/db/resource"
)

// EventRoadmapUpdated is the event of roadmaps and their milestones.
const EventRoadmapUpdated = "roadmap.updated"

var roadmaps = stored(resource.Roadmap)

func init() {
	declareEvents(EventRoadmapUpdated)
	roadmaps.hooks = hooks{
		normalize: keepMilestonesCount,
		afterWrite: func(tx *Tx, w writtenRecord) error {
			touchRoadmap(tx, w.row.id)
			return nil
		},
	}
}

var milestones = stored(resource.Milestone)

func init() {
	milestones.hooks = hooks{
		normalize: findRoadmap,
		afterWrite: func(tx *Tx, w writtenRecord) error {
			touchRoadmap(tx, w.record["roadmap_id"].(string), w.record["milestone_key"].(string))
			return nil
		},
	}
}

// keepMilestonesCount removes the count of milestones from a record if there are more
// milestones. enqueueRoadmapUpdate has set the count and would set it again.
func keepMilestonesCount(tx *Tx, record Record) error {
	given, present := record["milestones_count"]
	if !present {
		return nil
	}
	count, err := roadmaps.columnValue("milestones_count", given)
	if err != nil {
		return err
	}
	version, err := roadmaps.columnValue("version_number", record["version_number"])
	if err != nil {
		return err
	}
	var more bool
	err = tx.Row(`SELECT count(*) > coalesce(?3, 0) FROM milestones m JOIN roadmaps r ON r.org_id = m.org_id AND r.id = m.roadmap_id
		WHERE r.org_id = ?1 AND r.version_number = ?2`, tx.Org, version, count).Scan(&more)
	if more {
		delete(record, "milestones_count")
	}
	return StoreError(err)
}

// findRoadmap completes roadmap_version, by default the active one, and sets
// roadmap_id.
func findRoadmap(tx *Tx, record Record) error {
	version, given := record["roadmap_version"]
	query, args := "SELECT id, version_number FROM roadmaps WHERE org_id = ? ORDER BY version_number DESC LIMIT 1", []any{tx.Org}
	if given {
		whole, err := milestones.columnValue("roadmap_version", version)
		if err != nil {
			return err
		}
		query, args = "SELECT id, version_number FROM roadmaps WHERE org_id = ? AND version_number = ?", append(args, whole)
	}
	var id string
	var found int64
	err := tx.Row(query, args...).Scan(&id, &found)
	if none, err := Absent(err); err != nil {
		return StoreError(err)
	} else if none && given {
		return &Error{Code: Invalid, Param: "roadmap_version", Message: fmt.Sprintf("there is no roadmap of version %v; import it first", version)}
	} else if none {
		return &Error{Code: Invalid, Param: "roadmap_version", Message: "there is no roadmap yet; import one first"}
	}
	record["roadmap_id"], record["roadmap_version"] = id, found
	return nil
}

func touchRoadmap(tx *Tx, id string, milestones ...string) {
	if tx.roadmaps == nil {
		tx.roadmaps = map[string][]string{}
	}
	tx.roadmaps[id] = append(tx.roadmaps[id], milestones...)
}

type roadmapData struct {
	Roadmap           json.RawMessage `json:"roadmap"`
	ChangedMilestones []string        `json:"changed_milestones"`
}

// enqueueRoadmapUpdate enqueues one roadmap.updated for all changes of a transaction
// to the active roadmap and its milestones. It raises the counts of milestones that
// are too small.
func enqueueRoadmapUpdate(tx *Tx) error {
	for _, id := range sortedKeys(tx.roadmaps) {
		if _, err := tx.Exec(`UPDATE roadmaps SET milestones_count = max(coalesce(milestones_count, 0), n.n)
			FROM (SELECT count(*) AS n FROM milestones WHERE org_id = ?1 AND roadmap_id = ?2) n
			WHERE org_id = ?1 AND id = ?2 AND n.n > coalesce(milestones_count, 0)`, tx.Org, id); err != nil {
			return err
		}
	}
	if len(tx.roadmaps) == 0 {
		return nil
	}
	var id string
	var text []byte
	err := tx.Row("SELECT id, resource FROM roadmaps WHERE org_id = ? ORDER BY version_number DESC LIMIT 1", tx.Org).Scan(&id, &text)
	if err != nil {
		return StoreError(err)
	}
	changed, active := tx.roadmaps[id]
	if !active {
		return nil
	}
	changed = append([]string{}, changed...) // never null
	slices.Sort(changed)
	return tx.Enqueue(EventRoadmapUpdated, roadmapData{text, slices.Compact(changed)})
}
