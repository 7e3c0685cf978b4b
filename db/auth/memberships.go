package auth

import (
	"context"
	"fmt"
	"slices"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/sqlite"
)

// Memberships manages the roles of users in organisations.
type Memberships struct{ store *db.DB }

// Membership is the role of a user in an organisation.
type Membership struct {
	Organisation string `json:"organisation"` // its name
	Role         Role   `json:"role"`
}

// Add makes an existing user a member of the organisation. It changes neither the
// password nor other memberships. Errors: NotFound if no user has the name, Conflict if
// the user is a member.
func (m *Memberships) Add(ctx context.Context, by db.Actor, name string, role Role) (User, error) {
	var added User
	if !slices.Contains(Roles(), role) {
		return added, errUnknownRole
	}
	account, err := userByName(ctx, m.store, by.Org, name)
	if err != nil {
		return added, err
	}
	err = writeAccount(ctx, m.store, by, func(tx *db.Tx) error {
		if err := addMembership(tx, account.ID, tx.Org, role); sqlite.IsUnique(err) {
			return &db.Error{Code: db.Conflict, Param: "name", Message: fmt.Sprintf("a user named %q already exists", account.Name)}
		} else if err != nil {
			return err
		}
		if added, err = memberByID(tx, account.ID); err != nil {
			return err
		}
		return auditUser(tx, "added", audit.Authorization, audit.SeverityKeys, account.ID, audit.Metadata{
			"name": account.Name, "changes": audit.Changes{"role": {From: nil, To: role}},
		})
	})
	return added, err
}

// SetRole changes the role of a member from the next request on. Errors: NotFound for a
// user that is not a member, Conflict for the last admin unless the operator asks.
func (m *Memberships) SetRole(ctx context.Context, by db.Actor, id string, role Role) (User, error) {
	var u User
	if !slices.Contains(Roles(), role) {
		return u, errUnknownRole
	}
	err := writeAccount(ctx, m.store, by, func(tx *db.Tx) error {
		before, err := memberByID(tx, id)
		if u = before; err != nil || before.Role == role {
			return err
		}
		if err := requireOtherAdmin(tx, before); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE memberships SET role = ?, updated_at = ?
			WHERE org_id = ? AND user_seq = (SELECT seq FROM users WHERE id = ?)`, role, tx.At(), tx.Org, id); err != nil {
			return err
		}
		if u, err = memberByID(tx, id); err != nil {
			return err
		}
		return auditUser(tx, "role_changed", audit.Authorization, audit.SeverityKeys, id, audit.Metadata{"changes": audit.Changes{"role": {From: before.Role, To: role}}})
	})
	return u, err
}

// Remove ends a user's membership of the organisation. The last membership ends the
// account and its sessions, too. Errors as with SetRole.
func (m *Memberships) Remove(ctx context.Context, by db.Actor, id string) error {
	return writeAccount(ctx, m.store, by, func(tx *db.Tx) error {
		u, err := memberByID(tx, id)
		if err != nil {
			return err
		}
		if err := requireOtherAdmin(tx, u); err != nil {
			return err
		}
		of, err := organisationsOf(tx, id)
		if err != nil {
			return err
		}
		return endMembership(tx, u, len(of) == 1)
	})
}

// memberByID returns a member of the organisation with its role there.
func memberByID(tx *db.Tx, id string) (User, error) {
	u, err := scanUser(tx.Row(memberSelect+"u.id = ?2 AND m.role IS NOT NULL", tx.Org, id))
	if none, err := absent(err); none {
		return u, errNoUser
	} else if err != nil {
		return u, db.StoreError(err)
	}
	return u, nil
}

// addMembership makes a user a member of an organisation.
func addMembership(tx *db.Tx, userID string, org db.Org, role Role) error {
	_, err := tx.Exec(`INSERT INTO memberships (user_seq, org_id, role, created_at, updated_at)
		SELECT seq, ?, ?, ?3, ?3 FROM users WHERE id = ?4`, org, role, tx.At(), userID)
	return err
}

// organisationsOf returns the organisations of a user. Sessions start in the first one.
func organisationsOf(tx *db.Tx, userID string) (list []db.Org, err error) {
	err = tx.Each(func(row db.Scanner) error {
		var org db.Org
		err := row.Scan(&org)
		list = append(list, org)
		return err
	}, `SELECT o.seq FROM memberships m JOIN users u ON u.seq = m.user_seq JOIN organisations o ON o.seq = m.org_id
		WHERE u.id = ? AND o.removed_at IS NULL ORDER BY o.name <> ?, o.seq`, userID, db.DefaultOrganisation)
	return list, err
}

// requireOtherAdmin refuses a change that takes away the last admin of the organisation.
// The operator is allowed to make it, because the command line needs no user.
func requireOtherAdmin(tx *db.Tx, u User) error {
	if u.Role != Admin || tx.ID == operator {
		return nil
	}
	var others bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.seq = m.user_seq
		WHERE m.org_id = ? AND m.role = ? AND u.id <> ?)`, tx.Org, Admin, u.ID).Scan(&others)
	if err == nil && !others {
		return &db.Error{Code: db.Conflict, Param: "role", Message: fmt.Sprintf("%q is the last admin; make another user an admin first", u.Name)}
	}
	return db.StoreError(err)
}

// endMembership ends a membership, and the account if it was the last membership.
func endMembership(tx *db.Tx, u User, last bool) error {
	statement := "DELETE FROM memberships WHERE user_seq = (SELECT seq FROM users WHERE id = ?) AND org_id = ?"
	if _, err := tx.Exec(statement, u.ID, tx.Org); err != nil {
		return err
	}
	if last {
		if _, err := tx.Exec("DELETE FROM users WHERE id = ?", u.ID); err != nil {
			return err
		}
	}
	return auditUser(tx, "removed", audit.Authorization, audit.SeverityKeys, u.ID, audit.Metadata{
		"name": u.Name, "changes": audit.Changes{"role": {From: u.Role, To: nil}}, "account_removed": last,
	})
}
