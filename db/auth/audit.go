package auth

import (
	"context"
	"maps"

	"govsvc/db"
	"govsvc/db/audit"
)

// writeAccount runs a change of an account, which belongs to the whole file. Its audit
// events are in the organisation of the actor, or else in the default one.
func writeAccount(ctx context.Context, store *db.DB, by db.Actor, run func(*db.Tx) error) error {
	return store.Write(ctx, by, func(tx *db.Tx) error {
		if tx.Org == 0 {
			var err error
			if tx.Org, err = defaultOrg(tx); err != nil {
				return err
			}
		}
		return run(tx)
	})
}

// defaultOrg returns the organisation in which sessions start.
func defaultOrg(tx *db.Tx) (db.Org, error) {
	var org db.Org
	err := tx.Row("SELECT seq FROM organisations WHERE removed_at IS NULL ORDER BY name <> ?, seq LIMIT 1", db.DefaultOrganisation).Scan(&org)
	return org, db.StoreError(err)
}

// userEvent returns the audit event of a change of a user.
func userEvent(verb string, category audit.Category, severity int, id string, metadata audit.Metadata) audit.Event {
	return audit.Event{
		Action: "user." + verb, Category: category, Severity: severity,
		ResourceType: "user", ResourceID: id, Metadata: metadata,
	}
}

// auditUser appends an event about a user to the log of the change's organisation. An
// event of authentication concerns the account, so it is in the log of each organisation
// of the user.
func auditUser(tx *db.Tx, verb string, category audit.Category, severity int, id string, metadata audit.Metadata) error {
	event := userEvent(verb, category, severity, id, metadata)
	if category != audit.Authentication || id == "" {
		return tx.Audit(event)
	}
	orgs, err := organisationsOf(tx, id)
	if err != nil {
		return err
	}
	if len(orgs) == 0 {
		return tx.Audit(event)
	}
	return auditIn(tx, orgs, event)
}

// auditIn appends an event to the logs of several organisations.
func auditIn(tx *db.Tx, orgs []db.Org, event audit.Event) error {
	org := tx.Org
	defer func() { tx.Org = org }()
	metadata := event.Metadata
	for _, each := range orgs {
		tx.Org, event.Metadata = each, maps.Clone(metadata)
		if err := tx.Audit(event); err != nil {
			return err
		}
	}
	return nil
}
