// Package annotation keeps what people add to a record in the dashboard: links to other
// records, comments, attachments, and whether the record is archived. It is for the records
// of the resources that are Linked.
package annotation

import (
	"context"
	"fmt"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/resource"
)

// Service reads and writes annotations.
type Service struct{ store *db.DB }

// New returns the service of a store.
func New(store *db.DB) *Service { return &Service{store} }

// Subject is the record that is annotated.
type Subject struct{ Type, ID string }

// Name is a record as people know it.
type Name struct {
	Subject
	Key    string // the natural key, as links in the data format have it
	Name   string
	Status string
}

// names reads the record of a type and an id.
const names = "SELECT key, name, status FROM record_names WHERE org_id = ? AND type = ? AND id = ?"

// Find returns a record; NotFound if the organisation has none.
func (s *Service) Find(ctx context.Context, org db.Org, of Subject) (Name, error) {
	found := Name{Subject: of}
	err := s.store.Row(ctx, names, org, of.Type, of.ID).Scan(&found.Key, &found.Name, &found.Status)
	return found, of.missing(err)
}

// exists refuses an annotation of a record that the organisation does not have.
func (of Subject) exists(tx *db.Tx) error {
	var key, name, status string
	return of.missing(tx.Row(names, tx.Org, of.Type, of.ID).Scan(&key, &name, &status))
}

func (of Subject) missing(err error) error {
	if none, err := db.Absent(err); none {
		return &db.Error{Code: db.NotFound, Message: "no " + of.Type + " with this id in this organisation"}
	} else if err != nil {
		return db.StoreError(err)
	}
	return nil
}

// audit appends an event about the record. It is a part of the history of the record.
func (of Subject) audit(tx *db.Tx, action string, metadata audit.Metadata) error {
	return tx.Audit(audit.Event{
		Action: action, Category: audit.DataChange, Severity: audit.SeverityWrite,
		ResourceType: of.Type, ResourceID: of.ID, Metadata: metadata,
	})
}

// Archived says since when the dashboard's lists leave a record out.
type Archived struct{ At, By string }

// Archived returns nil for a record that is not archived.
func (s *Service) Archived(ctx context.Context, org db.Org, of Subject) (*Archived, error) {
	var a Archived
	err := s.store.Row(ctx, "SELECT archived_at, archived_by FROM archived_records WHERE org_id = ? AND record_type = ? AND record_id = ?",
		org, of.Type, of.ID).Scan(&a.At, &a.By)
	if none, err := db.Absent(err); none || err != nil {
		return nil, db.StoreError(err)
	}
	return &a, nil
}

// Archive leaves a record out of the dashboard's lists, or with archived false, shows it
// again. It writes nothing if the record is in that state.
func (s *Service) Archive(ctx context.Context, by db.Actor, of Subject, archived bool) error {
	if r := resource.Find(of.Type); r == nil || !r.Linked {
		return fmt.Errorf("records of type %q can't be archived", of.Type)
	}
	return s.store.Write(ctx, by, func(tx *db.Tx) error {
		if err := of.exists(tx); err != nil {
			return err
		}
		statement, args := "DELETE FROM archived_records WHERE org_id = ? AND record_type = ? AND record_id = ?", []any{tx.Org, of.Type, of.ID}
		verb := ".restored"
		if archived {
			statement = "INSERT INTO archived_records (org_id, record_type, record_id, archived_at, archived_by) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
			args, verb = append(args, tx.At(), tx.ID), ".archived"
		}
		if n, err := tx.Exec(statement, args...); err != nil || n == 0 {
			return err
		}
		return of.audit(tx, of.Type+verb, audit.Metadata{"changes": audit.Changes{"archived": {From: !archived, To: archived}}})
	})
}
