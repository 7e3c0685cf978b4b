package api

import (
	"context"
	"encoding/json"
	"strings"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

func init() { register(resource.KPICheckin.Create, CreateKpiCheckins) }

// CheckinBatch is a batch of check-ins that was recorded.
type CheckinBatch struct {
	Object
	Checkins []db.Checkin
}

// checkinBatch is a CheckinBatch as the API returns it.
type checkinBatch struct {
	Object   string       `json:"object"`
	Accepted int          `json:"accepted"`
	Checkins []db.Checkin `json:"checkins"`
}

// CreateKpiCheckins records a batch of data points, all or none
// (specification, POST /kpis/checkins).
func CreateKpiCheckins(ctx context.Context, c *Caller, in Input) (CheckinBatch, error) {
	batch := CheckinBatch{Object: Object{Status: 201, Type: "kpi_checkin_batch"}}
	drafts, err := checkinDrafts(in.Body)
	if err != nil {
		return batch, err
	}
	return write(ctx, c, func(tx *db.Tx) (CheckinBatch, error) {
		if batch.Checkins, err = tx.RecordCheckins(drafts); err != nil {
			return batch, err
		}
		batch.JSON, err = EncodeJSON(checkinBatch{batch.Type, len(batch.Checkins), batch.Checkins})
		return batch, err
	})
}

func checkinDrafts(body map[string]any) ([]db.CheckinDraft, error) {
	points, _ := body["checkins"].([]any)
	drafts := make([]db.CheckinDraft, len(points))
	for i := range points {
		point, _ := points[i].(map[string]any)
		d := &drafts[i]
		id, _ := point["key_result_id"].(string)
		d.KeyResultID = strings.ToLower(id) // as an id in a path is read
		d.KeyResultCode, _ = point["key_result_code"].(string)
		d.Value, _ = point["value"].(json.Number)
		d.EvidenceRef, d.Note = optional(point, "evidence_ref"), optional(point, "note")
		d.Source = "api"
		if source, given := point["source"].(string); given {
			d.Source = source
		}
		if start, given := point["period_start"].(string); given {
			var err error
			if d.PeriodStart, err = openapi.ParsePeriod(start); err != nil {
				return nil, err
			}
		}
	}
	return drafts, nil
}

// optional returns a string member that may be absent.
func optional(members map[string]any, name string) *string {
	if text, given := members[name].(string); given {
		return &text
	}
	return nil
}
