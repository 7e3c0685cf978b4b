package db

import (
	"context"
	"fmt"
	"slices"

	"govsvc/db/sqlite"
)

// operator is the actor of the command line, which may change every account.
const operator = "system"

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

// Members returns users with all memberships of each.
func (d *DB) Members(ctx context.Context, users ...User) ([]Member, error) {
	of := map[string][]Membership{}
	err := d.Each(ctx, func(row Scanner) error {
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

// OrganisationsOf lists the organisations that a user is a member of, by name.
func (d *DB) OrganisationsOf(ctx context.Context, userID string) ([]Organisation, error) {
	return d.organisations(ctx, `WHERE removed_at IS NULL AND seq IN
		(SELECT m.org_id FROM memberships m JOIN users u ON u.seq = m.user_seq WHERE u.id = ?)`, userID)
}

// member returns a member of the organisation with its role there.
func (tx *Tx) member(id string) (User, error) {
	u, err := scanUser(tx.Row(memberSelect+"u.id = ?2 AND m.role IS NOT NULL", tx.Org, id))
	if none, err := absent(err); none {
		return u, errNoUser
	} else if err != nil {
		return u, storeError(err)
	}
	return u, nil
}

// join makes a user a member of an organisation.
func (tx *Tx) join(userID string, org Org, role Role) error {
	_, err := tx.Exec(`INSERT INTO memberships (user_seq, org_id, role, created_at, updated_at)
		SELECT seq, ?, ?, ?3, ?3 FROM users WHERE id = ?4`, org, role, tx.At(), userID)
	return err
}

// organisationsOf lists the organisations of which a user is a member, the
// default one first: sessions begin with it.
func (tx *Tx) organisationsOf(userID string) (list []Org, err error) {
	err = tx.Each(func(row Scanner) error {
		var org Org
		err := row.Scan(&org)
		list = append(list, org)
		return err
	}, `SELECT o.seq FROM memberships m JOIN users u ON u.seq = m.user_seq JOIN organisations o ON o.seq = m.org_id
		WHERE u.id = ? AND o.removed_at IS NULL ORDER BY o.name <> ?, o.seq`, userID, DefaultOrganisation)
	return list, err
}

// AddMember makes a user that exists a member of the organisation. The password
// and the memberships elsewhere stay as they are. Errors: NotFound where no user
// has the name, Conflict for a member.
func (d *DB) AddMember(ctx context.Context, by Actor, name string, role Role) (User, error) {
	var added User
	if !slices.Contains(Roles(), role) {
		return added, oneOf("role", Roles())
	}
	account, err := d.UserByName(ctx, by.Org, name)
	if err != nil {
		return added, err
	}
	err = d.writeUser(ctx, by, func(tx *Tx) error {
		if err := tx.join(account.ID, tx.Org, role); sqlite.IsUnique(err) {
			return &Error{Code: Conflict, Param: "name", Message: fmt.Sprintf("a user named %q exists already", account.Name)}
		} else if err != nil {
			return err
		}
		if added, err = tx.member(account.ID); err != nil {
			return err
		}
		return tx.auditUser("added", Authorization, SeverityKeys, account.ID, Metadata{
			"name": account.Name, "changes": Changes{"role": {nil, role}},
		})
	})
	return added, err
}

// SetUserRole changes what a member of the organisation may do there, from the
// next request on. Errors: NotFound for a user that is not a member, Conflict for
// the last admin unless the operator asks for it.
func (d *DB) SetUserRole(ctx context.Context, by Actor, id string, role Role) (User, error) {
	var u User
	if !slices.Contains(Roles(), role) {
		return u, oneOf("role", Roles())
	}
	err := d.writeUser(ctx, by, func(tx *Tx) error {
		before, err := tx.member(id)
		if u = before; err != nil || before.Role == role {
			return err
		}
		if err := tx.keepAdmin(before); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE memberships SET role = ?, updated_at = ?
			WHERE org_id = ? AND user_seq = (SELECT seq FROM users WHERE id = ?)`, role, tx.At(), tx.Org, id); err != nil {
			return err
		}
		if u, err = tx.member(id); err != nil {
			return err
		}
		return tx.auditUser("role_changed", Authorization, SeverityKeys, id, Metadata{"changes": Changes{"role": {before.Role, role}}})
	})
	return u, err
}

// keepAdmin keeps the last admin of the organisation. The operator may remove it:
// the command line needs no user.
func (tx *Tx) keepAdmin(u User) error {
	if u.Role != Admin || tx.ID == operator {
		return nil
	}
	var others bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.seq = m.user_seq
		WHERE m.org_id = ? AND m.role = ? AND u.id <> ?)`, tx.Org, Admin, u.ID).Scan(&others)
	if err == nil && !others {
		return &Error{Code: Conflict, Param: "role", Message: fmt.Sprintf("%q is the last admin; make another user an admin first", u.Name)}
	}
	return storeError(err)
}

// RemoveUser ends a user's membership of the organisation. The account and its
// sessions end with the last membership. Errors as with SetUserRole.
func (d *DB) RemoveUser(ctx context.Context, by Actor, id string) error {
	return d.writeUser(ctx, by, func(tx *Tx) error {
		u, err := tx.member(id)
		if err != nil {
			return err
		}
		if err := tx.keepAdmin(u); err != nil {
			return err
		}
		of, err := tx.organisationsOf(id)
		if err != nil {
			return err
		}
		return tx.leave(u, len(of) == 1)
	})
}

// RemoveAccount removes a user with all its memberships and sessions. It is for
// the operator: it keeps no admin.
func (d *DB) RemoveAccount(ctx context.Context, by Actor, id string) error {
	return d.writeUser(ctx, by, func(tx *Tx) error {
		of, err := tx.organisationsOf(id)
		if err != nil {
			return err
		}
		for i, org := range of {
			tx.Org = org
			u, err := tx.member(id)
			if err != nil {
				return err
			}
			if err := tx.leave(u, i == len(of)-1); err != nil {
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
		return tx.auditUser("removed", Authorization, SeverityKeys, id, Metadata{"account_removed": true})
	})
}

// leave ends a membership, and the account where that was its last one.
func (tx *Tx) leave(u User, last bool) error {
	ends := "DELETE FROM memberships WHERE user_seq = (SELECT seq FROM users WHERE id = ?) AND org_id = ?"
	if _, err := tx.Exec(ends, u.ID, tx.Org); err != nil {
		return err
	}
	if last {
		if _, err := tx.Exec("DELETE FROM users WHERE id = ?", u.ID); err != nil {
			return err
		}
	}
	return tx.auditUser("removed", Authorization, SeverityKeys, u.ID, Metadata{
		"name": u.Name, "changes": Changes{"role": {u.Role, nil}}, "account_removed": last,
	})
}

// manages takes the id of a user, an organisation, the id of an admin and the
// role of admins. It tells whether the user is a member of the organisation, and
// whether it is one of an organisation in which the admin is not an admin.
const manages = `SELECT EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.seq = m.user_seq WHERE u.id = ?1 AND m.org_id = ?2),
	EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.seq = m.user_seq WHERE u.id = ?1 AND NOT EXISTS
		(SELECT 1 FROM memberships a JOIN users admin ON admin.seq = a.user_seq
			WHERE admin.id = ?3 AND a.org_id = m.org_id AND a.role = ?4))`

var errSharedAccount = &Error{
	Code:    Conflict,
	Message: "this user also belongs to another organisation: an admin of all of them, or the operator with `govsvc users`, changes the account",
}

// ManagesAccount reports whether an admin may change the account of a member of
// its organisation: the password, the second factor and the sessions. It may
// where it is an admin of every organisation that the user is a member of.
func (d *DB) ManagesAccount(ctx context.Context, by Actor, id string) (bool, error) {
	var member, beyond bool
	err := d.Row(ctx, manages, id, by.Org, by.ID, Admin).Scan(&member, &beyond)
	return member && !beyond, storeError(err)
}

// manage refuses a change of an account that the actor does not manage. Users
// manage their own, and the operator manages all.
func (tx *Tx) manage(id string) error {
	if tx.ID == operator || tx.ID == id {
		return nil
	}
	var member, beyond bool
	err := tx.Row(manages, id, tx.Org, tx.ID, Admin).Scan(&member, &beyond)
	switch {
	case err != nil:
		return storeError(err)
	case !member:
		return errNoUser
	case beyond:
		return errSharedAccount
	}
	return nil
}
