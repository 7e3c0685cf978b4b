package auth

import (
	"context"

	"govsvc/db"
)

// managesQuery takes the ids of a user, an organisation and an admin, and the role of
// admins. It reports whether the user is a member of the organisation, and whether the
// user is a member of an organisation in which the admin is not an admin.
const managesQuery = `SELECT EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.seq = m.user_seq WHERE u.id = ?1 AND m.org_id = ?2),
	EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.seq = m.user_seq WHERE u.id = ?1 AND NOT EXISTS
		(SELECT 1 FROM memberships a JOIN users admin ON admin.seq = a.user_seq
			WHERE admin.id = ?3 AND a.org_id = m.org_id AND a.role = ?4))`

var errSharedAccount = &db.Error{
	Code:    db.Conflict,
	Message: "this user also belongs to another organisation; only an admin of all of them, or the operator with `govsvc users`, can change the account",
}

// ManagesAccount reports whether an admin may change the account of a member: the
// password, the second factor and the sessions. The admin must be an admin of every
// organisation of the user.
func (m *Memberships) ManagesAccount(ctx context.Context, by db.Actor, id string) (bool, error) {
	var member, beyond bool
	err := m.store.Row(ctx, managesQuery, id, by.Org, by.ID, Admin).Scan(&member, &beyond)
	return member && !beyond, db.StoreError(err)
}

// requireManaged refuses a change of an account that the actor does not manage. Users
// manage their own account, and the operator manages all.
func requireManaged(tx *db.Tx, id string) error {
	if tx.ID == operator || tx.ID == id {
		return nil
	}
	var member, beyond bool
	err := tx.Row(managesQuery, id, tx.Org, tx.ID, Admin).Scan(&member, &beyond)
	switch {
	case err != nil:
		return db.StoreError(err)
	case !member:
		return errNoUser
	case beyond:
		return errSharedAccount
	}
	return nil
}
