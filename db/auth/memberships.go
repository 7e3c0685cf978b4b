package auth

import (
	"context"
	"fmt"
	"slices"

	"govsvc/db"
	"govsvc/db/sqlite"
)

// Memberships are the roles of users in organisations.
type Memberships struct{ store *db.DB }

// Membership is the role of a user in an organisation.
type Membership struct {
	Organisation string `json:"organisation"` // its name
	Role         Role   `json:"role"`
}

// Member is a user with all its memberships, by name of the organisation.
type Member struct {
	User
	Organisations []Membership `json:"organisations"`
}

// WithMemberships returns users with all memberships of each.
func (u *Users) WithMemberships(ctx context.Context, users ...User) ([]Member, error) {
	of := map[string][]Membership{}
	err := u.store.Each(ctx, func(row db.Scanner) error {
		var id string
		var m Membership
		err := row.Scan(&id, &m.Organisation, &m.Role)
		of[id] = append(of[id], m)
		return err
	}, `SELECT u.id, o.name, m.role FROM memberships m JOIN users u ON u.seq = m.user_seq JOIN organisations o ON o.seq = m.org_id
		WHERE o.removed_at IS NULL ORDER BY o.name`)
	members := make([]Member, len(users))
	for i, u := range users {
		members[i] = Member{u, of[u.ID]}
		if of[u.ID] == nil {
			members[i].Organisations = []Membership{}
		}
	}
	return members, err
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

// organisationsOf lists the organisations of which a user is a member, the
// default one first: sessions begin with it.
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

// Add makes a user that exists a member of the organisation. The password
// and the memberships elsewhere stay as they are. Errors: NotFound where no user
// has the name, Conflict for a member.
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
			return &db.Error{Code: db.Conflict, Param: "name", Message: fmt.Sprintf("a user named %q exists already", account.Name)}
		} else if err != nil {
			return err
		}
		if added, err = memberByID(tx, account.ID); err != nil {
			return err
		}
		return auditUser(tx, "added", db.Authorization, db.SeverityKeys, account.ID, db.Metadata{
			"name": account.Name, "changes": db.Changes{"role": {From: nil, To: role}},
		})
	})
	return added, err
}

// SetRole changes what a member of the organisation may do there, from the
// next request on. Errors: NotFound for a user that is not a member, Conflict for
// the last admin unless the operator asks for it.
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
		return auditUser(tx, "role_changed", db.Authorization, db.SeverityKeys, id, db.Metadata{"changes": db.Changes{"role": {From: before.Role, To: role}}})
	})
	return u, err
}

// requireOtherAdmin keeps the last admin of the organisation. The operator may remove it:
// the command line needs no user.
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

// Remove ends a user's membership of the organisation. The account and its
// sessions end with the last membership. Errors as with SetUserRole.
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

// Remove removes a user with all its memberships and sessions. It is for
// the operator: it keeps no admin.
func (u *Users) Remove(ctx context.Context, by db.Actor, id string) error {
	return writeAccount(ctx, u.store, by, func(tx *db.Tx) error {
		of, err := organisationsOf(tx, id)
		if err != nil {
			return err
		}
		for i, org := range of {
			tx.Org = org
			u, err := memberByID(tx, id)
			if err != nil {
				return err
			}
			if err := endMembership(tx, u, i == len(of)-1); err != nil {
				return err
			}
		}
		if len(of) > 0 {
			return nil
		}
		gone, err := tx.Exec("DELETE FROM users WHERE id = ?", id)
		if err != nil {
			return err
		}
		if gone == 0 {
			return errNoUser
		}
		return auditUser(tx, "removed", db.Authorization, db.SeverityKeys, id, db.Metadata{"account_removed": true})
	})
}

// endMembership ends a membership, and the account where that was its last one.
func endMembership(tx *db.Tx, u User, last bool) error {
	ends := "DELETE FROM memberships WHERE user_seq = (SELECT seq FROM users WHERE id = ?) AND org_id = ?"
	if _, err := tx.Exec(ends, u.ID, tx.Org); err != nil {
		return err
	}
	if last {
		if _, err := tx.Exec("DELETE FROM users WHERE id = ?", u.ID); err != nil {
			return err
		}
	}
	return auditUser(tx, "removed", db.Authorization, db.SeverityKeys, u.ID, db.Metadata{
		"name": u.Name, "changes": db.Changes{"role": {From: u.Role, To: nil}}, "account_removed": last,
	})
}

// managesQuery takes the id of a user, an organisation, the id of an admin and the
// role of admins. It tells whether the user is a member of the organisation, and
// whether it is one of an organisation in which the admin is not an admin.
const managesQuery = `SELECT EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.seq = m.user_seq WHERE u.id = ?1 AND m.org_id = ?2),
	EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.seq = m.user_seq WHERE u.id = ?1 AND NOT EXISTS
		(SELECT 1 FROM memberships a JOIN users admin ON admin.seq = a.user_seq
			WHERE admin.id = ?3 AND a.org_id = m.org_id AND a.role = ?4))`

var errSharedAccount = &db.Error{
	Code:    db.Conflict,
	Message: "this user also belongs to another organisation: an admin of all of them, or the operator with `govsvc users`, changes the account",
}

// ManagesAccount reports whether an admin may change the account of a member of
// its organisation: the password, the second factor and the sessions. It may
// where it is an admin of every organisation that the user is a member of.
func (m *Memberships) ManagesAccount(ctx context.Context, by db.Actor, id string) (bool, error) {
	var member, beyond bool
	err := m.store.Row(ctx, managesQuery, id, by.Org, by.ID, Admin).Scan(&member, &beyond)
	return member && !beyond, db.StoreError(err)
}

// requireManaged refuses a change of an account that the actor does not manage. Users
// manage their own, and the operator manages all.
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
