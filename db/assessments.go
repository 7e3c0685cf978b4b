package db

import (
	"encoding/json"

	"govsvc/db/resource"
)

// The events of assessments.
const (
	EventAssessmentCompleted = "assessment.completed"
	EventVerdictChanged      = "verdict.changed"
)

func init() {
	declareEvents(EventAssessmentCompleted, EventVerdictChanged)
	stored(resource.Assessment).hooks = hooks{afterWrite: assessmentWritten, readsOthers: true}
}

// assessmentWritten enqueues assessment.completed for an assessment that is newer
// than all others, and verdict.changed if its verdict differs from the one before.
func assessmentWritten(tx *Tx, w writtenRecord) error {
	if w.outcome != Created {
		return nil
	}
	var scorecard []byte
	var verdict *string
	err := tx.Row(`SELECT scorecard, verdict FROM assessments a WHERE seq = ?
		AND NOT EXISTS (SELECT 1 FROM assessments b WHERE b.org_id = a.org_id AND b.completed_at > a.completed_at)`, w.row.seq).
		Scan(&scorecard, &verdict)
	if older, err := Absent(err); older || err != nil {
		return StoreError(err)
	}
	if err := tx.Enqueue(EventAssessmentCompleted, scorecardData{Scorecard: scorecard}); err != nil {
		return err
	}
	var previous *string
	err = tx.Row(`SELECT verdict FROM assessments WHERE org_id = ? AND seq <> ?
		ORDER BY completed_at DESC LIMIT 1`, tx.Org, w.row.seq).Scan(&previous)
	if first, err := Absent(err); first || err != nil || equal(previous, verdict) {
		return StoreError(err)
	}
	return tx.Enqueue(EventVerdictChanged, verdictData{scorecardData{Scorecard: scorecard}, previous})
}

type scorecardData struct {
	Scorecard json.RawMessage `json:"scorecard"`
}

type verdictData struct {
	scorecardData
	PreviousVerdict *string `json:"previous_verdict"`
}

// equal compares two values that may be null.
func equal[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
