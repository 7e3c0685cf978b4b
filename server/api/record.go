package api

import (
	"context"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/db/dashboard"
)

// ReadRecord reads one record of a resource.
func ReadRecord(ctx context.Context, c *Caller, object, id string) (Record, error) {
	if _, err := c.withPages(object); err != nil {
		return nil, err
	}
	text, err := c.Store.Record(ctx, c.Organisation.Org, object, id)
	if err != nil {
		return nil, err
	}
	return decodeRecord(text)
}

// AuditEvent is an event of the audit log, for people to read.
type AuditEvent struct {
	ID           string         `json:"id"`
	Time         string         `json:"time"`
	Actor        string         `json:"actor"`
	Action       string         `json:"action"`
	Category     string         `json:"category"`
	ResourceType string         `json:"resource_type"` // "" if no one record was acted on
	ResourceID   string         `json:"resource_id"`
	Severity     int            `json:"severity"`
	Metadata     map[string]any `json:"metadata"` // but the changes
	Changes      []FieldChange  `json:"-"`        // by field
}

// FieldChange is a member before and after a change; nil is none.
type FieldChange struct {
	Field    string
	From, To any
}

// History reads the latest 200 audit events of a record, newest first.
func History(ctx context.Context, c *Caller, object, id string) ([]AuditEvent, error) {
	if _, err := c.withPages(object); err != nil {
		return nil, err
	}
	events, err := dashboard.RecordHistory(ctx, c.Store, c.Organisation, object, id)
	if err != nil {
		return nil, err
	}
	return auditEvents(events)
}

// ImportFiles names the files that events of records were imported from, by the
// id of the import.
func ImportFiles(ctx context.Context, c *Caller, events []AuditEvent) (map[string]string, error) {
	files := map[string]string{}
	for _, event := range events {
		id, _ := event.Metadata["import_id"].(string)
		if _, known := files[id]; known || id == "" {
			continue
		}
		files[id] = ""
		found, err := c.Store.Audit.Search(ctx, c.Organisation, db.AuditSearch{ResourceType: "import", ResourceID: id, Limit: 1})
		if err != nil {
			return nil, err
		}
		imports, err := auditEvents(found.Events)
		if err != nil || len(imports) == 0 {
			return nil, err
		}
		sources, _ := imports[0].Metadata["sources"].([]any)
		var names []string
		for _, source := range sources {
			if name, ok := source.(string); ok {
				names = append(names, name)
			}
		}
		files[id] = strings.Join(names, ", ")
	}
	return files, nil
}

func auditEvents(texts [][]byte) ([]AuditEvent, error) {
	all := make([]AuditEvent, len(texts))
	for i, text := range texts {
		if err := decode(text, &all[i]); err != nil {
			return nil, err
		}
		all[i].takeChanges()
	}
	return all, nil
}

// takeChanges moves the changes of a record's members out of the metadata.
func (e *AuditEvent) takeChanges() {
	changes, _ := e.Metadata["changes"].(map[string]any)
	for field, change := range changes {
		values, ok := change.(map[string]any)
		if !ok {
			return
		}
		e.Changes = append(e.Changes, FieldChange{field, values["from"], values["to"]})
	}
	slices.SortFunc(e.Changes, func(a, b FieldChange) int { return strings.Compare(a.Field, b.Field) })
	delete(e.Metadata, "changes")
}

// Rerating is a change of a risk's rating with the reason that was given.
type Rerating = dashboard.Rerating

// RiskEvidence reads why a risk was re-rated, newest first.
func RiskEvidence(ctx context.Context, c *Caller, id string) ([]Rerating, error) {
	return dashboard.Reratings(ctx, c.Store, c.Organisation.Org, id)
}

// RiskBaseline reads the severity of a risk without any treatment; "" if it is not known.
func RiskBaseline(ctx context.Context, c *Caller, id string) (string, error) {
	return dashboard.UntreatedBaseline(ctx, c.Store, c.Organisation.Org, id)
}

// CheckinHistory reads the check-ins of a key result by period, oldest first:
// those of the latest 500.
func CheckinHistory(ctx context.Context, c *Caller, kpiID string) ([]Record, error) {
	checkins, err := dashboard.CheckinHistory(ctx, c.Store, c.Organisation.Org, kpiID)
	if err != nil {
		return nil, err
	}
	return records(checkins)
}

// KPITrends reads the values of the latest periods of key results by their id, oldest
// first: at most 24 of each.
func KPITrends(ctx context.Context, c *Caller, kpis []Record) (map[string][]float64, error) {
	ids := make([]string, len(kpis))
	for i, kpi := range kpis {
		ids[i], _ = kpi["id"].(string)
	}
	return dashboard.KPITrends(ctx, c.Store, c.Organisation.Org, ids)
}
