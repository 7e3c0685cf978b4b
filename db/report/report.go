// Package report keeps which board reports were presented, with their figures, so that the
// next report can say what has changed since.
package report

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/db/audit"
)

// Bounds of saved reports.
const (
	// MaxTitle is the most characters of a title.
	MaxTitle = 120
	// MaxReports is the most saved reports of an organisation.
	MaxReports = 1000
	// Listed is how many reports List returns.
	Listed = 50
)

// Figures are the numbers of a report. Unknown ones are nil or "".
type Figures struct {
	Verdict               string   `json:"verdict,omitempty"`
	OverallScore          *float64 `json:"overall_score,omitempty"`
	AdjustedScore         *float64 `json:"adjusted_score,omitempty"`
	OpenRisks             int      `json:"open_risks"`
	CriticalRisks         int      `json:"critical_risks"`
	HighRisks             int      `json:"high_risks"`
	OpenIncidents         *int     `json:"open_incidents,omitempty"` // nil if the plan has none
	PendingNotifications  *int     `json:"pending_notifications,omitempty"`
	ObligationsMet        int      `json:"obligations_met"`
	ObligationsApplicable int      `json:"obligations_applicable"`
	ObligationsOverdue    int      `json:"obligations_overdue"`
	KpisOnTarget          int      `json:"kpis_on_target"`
	ActiveKpis            int      `json:"active_kpis"`
	MilestonesCompleted   int      `json:"milestones_completed"`
	Milestones            int      `json:"milestones"`
}

// Saved is a report that was presented.
type Saved struct {
	ID, Title string
	At, By    string
	Figures   Figures
}

// Service reads and writes saved reports.
type Service struct{ store *db.DB }

// New returns the service of a store.
func New(store *db.DB) *Service { return &Service{store} }

const list = "SELECT id, title, figures, saved_at, saved_by FROM saved_reports WHERE org_id = ? ORDER BY seq DESC LIMIT ?"

// List returns the latest saved reports of an organisation, newest first.
func (s *Service) List(ctx context.Context, org db.Org) ([]Saved, error) {
	var all []Saved
	err := s.store.Each(ctx, func(row db.Scanner) error {
		report, err := scan(row)
		all = append(all, report)
		return err
	}, list, org, Listed)
	return all, err
}

// Find returns a saved report; NotFound if the organisation has none with the id.
func (s *Service) Find(ctx context.Context, org db.Org, id string) (Saved, error) {
	report, err := scan(s.store.Row(ctx, "SELECT id, title, figures, saved_at, saved_by FROM saved_reports WHERE org_id = ? AND id = ?", org, id))
	if none, err := db.Absent(err); none {
		return report, &db.Error{Code: db.NotFound, Message: "no saved report with this id in this organisation"}
	} else if err != nil {
		return report, db.StoreError(err)
	}
	return report, nil
}

func scan(row db.Scanner) (Saved, error) {
	var report Saved
	var figures []byte
	if err := row.Scan(&report.ID, &report.Title, &figures, &report.At, &report.By); err != nil {
		return report, err
	}
	return report, json.Unmarshal(figures, &report.Figures)
}

// Save keeps the figures of a report that is presented now, and returns its id.
func (s *Service) Save(ctx context.Context, by db.Actor, title string, figures Figures) (id string, err error) {
	title = strings.TrimSpace(title)
	switch {
	case title == "":
		return "", &db.Error{Code: db.Invalid, Param: "title", Message: "title is required"}
	case !utf8.ValidString(title) || strings.ContainsFunc(title, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", &db.Error{Code: db.Invalid, Param: "title", Message: "title must be one line of text"}
	case utf8.RuneCountInString(title) > MaxTitle:
		return "", &db.Error{Code: db.Invalid, Param: "title", Message: fmt.Sprintf("title must have at most %d characters", MaxTitle)}
	}
	encoded, err := json.Marshal(figures)
	if err != nil {
		return "", err
	}
	changes, err := changesOf(title, encoded)
	if err != nil {
		return "", err
	}
	return id, s.store.Write(ctx, by, func(tx *db.Tx) error {
		var n int
		if err := tx.Row("SELECT count(*) FROM saved_reports WHERE org_id = ?", tx.Org).Scan(&n); err != nil {
			return db.StoreError(err)
		}
		if n >= MaxReports {
			return &db.Error{Code: db.Conflict, Param: "title", Message: fmt.Sprintf("there are already %d saved reports, which is the most", n)}
		}
		id = tx.NewID()
		_, err := tx.Insert("INSERT INTO saved_reports (org_id, id, title, figures, saved_at, saved_by) VALUES (?, ?, ?, ?, ?, ?)",
			tx.Org, id, title, string(encoded), tx.At(), tx.ID)
		if err != nil {
			return db.StoreError(err)
		}
		return tx.Audit(audit.Event{
			Action: "report.saved", Category: audit.DataChange, Severity: audit.SeverityWrite, ResourceType: "report", ResourceID: id,
			Metadata: audit.Metadata{"changes": changes},
		})
	})
}

// changesOf returns the members of a new report, for its audit event.
func changesOf(title string, figures []byte) (audit.Changes, error) {
	changes := audit.Changes{"title": {To: title}}
	var members map[string]any
	err := json.Unmarshal(figures, &members)
	for name, value := range members {
		changes[name] = audit.Change{To: value}
	}
	return changes, err
}
