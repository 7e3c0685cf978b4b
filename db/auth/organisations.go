package auth

import (
	"context"

	"govsvc/db"
	"govsvc/db/audit"
)

// organisationColumns are those of an organisation o, in the order of
// organisationFields.
const organisationColumns = "o.seq, o.id, o.name, o.plan, o.subscription, o.created_at, o.updated_at"

func organisationFields(o *db.Organisation) []any {
	return []any{&o.Org, &o.ID, &o.Name, &o.Plan, &o.Subscription, &o.CreatedAt, &o.UpdatedAt}
}

// Organisations returns the organisations that a user is a member of, by name.
func (m *Memberships) Organisations(ctx context.Context, userID string) ([]db.Organisation, error) {
	list := []db.Organisation{}
	err := m.store.Each(ctx, func(row db.Scanner) error {
		var o db.Organisation
		err := row.Scan(organisationFields(&o)...)
		list = append(list, o)
		return err
	}, "SELECT "+organisationColumns+` FROM organisations o WHERE o.removed_at IS NULL AND o.seq IN
		(SELECT m.org_id FROM memberships m JOIN users u ON u.seq = m.user_seq WHERE u.id = ?) ORDER BY o.name`, userID)
	return list, err
}

// CreateOrganisation adds an organisation with an active subscription. A user who
// adds it becomes its admin. One that the operator adds has no members.
func (m *Memberships) CreateOrganisation(ctx context.Context, by db.Actor, name string, plan db.Plan) (db.Organisation, error) {
	return m.store.Orgs.Create(ctx, by, name, plan, func(tx *db.Tx) error {
		if tx.ID == operator {
			return nil
		}
		if err := addMembership(tx, tx.ID, tx.Org, Admin); err != nil {
			return err
		}
		u, err := memberByID(tx, tx.ID)
		if err != nil {
			return err
		}
		return auditUser(tx, "added", audit.Authorization, audit.SeverityKeys, u.ID, audit.Metadata{"name": u.Name, "changes": audit.Changes{"role": {From: nil, To: Admin}}})
	})
}

// RemoveOrganisation removes an organisation as db.Orgs.Remove does. Its
// memberships end. Sessions that worked on it continue with the first organisation
// of their users.
func (m *Memberships) RemoveOrganisation(ctx context.Context, by db.Actor, name string) (db.RemovedOrganisation, error) {
	return m.store.Orgs.Remove(ctx, by, name, endMemberships)
}

// endMemberships ends all memberships of a removed organisation. Its members belong to
// other organisations, in which their sessions continue.
func endMemberships(tx *db.Tx) error {
	var members []User
	err := tx.Each(func(row db.Scanner) error {
		u, err := scanUser(row)
		members = append(members, u)
		return err
	}, memberSelect+"m.role IS NOT NULL ORDER BY u.name_key", tx.Org)
	if err != nil {
		return err
	}
	for _, u := range members {
		of, err := organisationsOf(tx, u.ID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE sessions SET org_id = ? WHERE org_id = ? AND user_seq = (SELECT seq FROM users WHERE id = ?)", of[0], tx.Org, u.ID); err != nil {
			return err
		}
		if err := endMembership(tx, u, false); err != nil {
			return err
		}
	}
	// sessions of users whose membership ended earlier
	_, err = tx.Exec("DELETE FROM sessions WHERE org_id = ?", tx.Org)
	return err
}
