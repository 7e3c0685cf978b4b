package auth

import (
	"context"
	"fmt"

	"govsvc/db"
	"govsvc/db/audit"
)

// Users manages the accounts for the dashboard.
type Users struct {
	store     *db.DB
	passwords *passwordHasher
}

// User is an account for the dashboard. It has one name and one password in the file
// and a role in each organisation that it is a member of.
type User struct {
	ID            string  `json:"id"`
	Name          string  `json:"name"`
	Role          Role    `json:"role"` // in the requested organisation; "" if the user is not a member of it
	SecondFactor  bool    `json:"second_factor"`
	RecoveryCodes int     `json:"recovery_codes"` // the unused ones
	CreatedAt     string  `json:"created_at"`
	UpdatedAt     string  `json:"updated_at"` // of the account or of the membership
	LastSignInAt  *string `json:"last_sign_in_at"`
}

const (
	// userColumns are those of a user u and of its membership m, if it has one.
	userColumns = `u.id, u.name, coalesce(m.role, ''), u.totp_secret IS NOT NULL,
	(SELECT count(*) FROM recovery_codes c WHERE c.user_seq = u.seq AND c.used_at IS NULL),
	u.created_at, max(u.updated_at, coalesce(m.updated_at, '')), u.last_sign_in_at`
	// memberSelect takes an organisation as its first argument.
	memberSelect = "SELECT " + userColumns + " FROM users u LEFT JOIN memberships m ON m.user_seq = u.seq AND m.org_id = ?1 WHERE "
)

func (u *User) fields() []any {
	return []any{&u.ID, &u.Name, &u.Role, &u.SecondFactor, &u.RecoveryCodes, &u.CreatedAt, &u.UpdatedAt, &u.LastSignInAt}
}

func scanUser(row db.Scanner) (User, error) {
	var u User
	err := row.Scan(u.fields()...)
	return u, err
}

// List returns the members of an organisation by name, with their roles there.
func (u *Users) List(ctx context.Context, org db.Org) ([]User, error) {
	return u.list(ctx, org, "m.role IS NOT NULL")
}

// ListAll returns all users of the file by name, with their roles in the
// organisation.
func (u *Users) ListAll(ctx context.Context, org db.Org) ([]User, error) {
	return u.list(ctx, org, "true")
}

func (u *Users) list(ctx context.Context, org db.Org, condition string) ([]User, error) {
	list := []User{}
	err := u.store.Each(ctx, func(row db.Scanner) error {
		user, err := scanUser(row)
		list = append(list, user)
		return err
	}, memberSelect+condition+" ORDER BY u.name_key", org)
	return list, err
}

// ByName finds a user of the file by its name; letter case does not matter. The role is
// the one in the organisation. If org is 0, it is the one in the organisation in which
// the user's sessions start.
func (u *Users) ByName(ctx context.Context, org db.Org, name string) (User, error) {
	return userByName(ctx, u.store, org, name)
}

func userByName(ctx context.Context, store *db.DB, org db.Org, name string) (User, error) {
	u, err := scanUser(store.Row(ctx, "SELECT "+userColumns+` FROM users u LEFT JOIN memberships m ON m.user_seq = u.seq
		AND m.org_id = iif(?1 <> 0, ?1, (SELECT o.seq FROM memberships h JOIN organisations o ON o.seq = h.org_id
			WHERE h.user_seq = u.seq AND o.removed_at IS NULL ORDER BY o.name <> ?2, o.seq LIMIT 1))
		WHERE u.name_key = ?3`, org, db.DefaultOrganisation, nameKey(name)))
	if none, err := absent(err); none {
		return u, &db.Error{Code: db.NotFound, Message: fmt.Sprintf("no user is named %.200q; `govsvc users list` shows them", name)}
	} else if err != nil {
		return u, db.StoreError(err)
	}
	return u, nil
}

// Any reports whether the file has a user.
func (u *Users) Any(ctx context.Context) (bool, error) {
	var found bool
	err := u.store.Row(ctx, "SELECT EXISTS (SELECT 1 FROM users)").Scan(&found)
	return found, db.StoreError(err)
}

// Member is a user with all its memberships, ordered by organisation.
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

// Remove removes a user with all its memberships and sessions, even the last admin of
// an organisation. It is for the operator.
func (u *Users) Remove(ctx context.Context, by db.Actor, id string) error {
	return writeAccount(ctx, u.store, by, func(tx *db.Tx) error {
		of, err := organisationsOf(tx, id)
		if err != nil {
			return err
		}
		for i, org := range of {
			tx.Org = org
			member, err := memberByID(tx, id)
			if err != nil {
				return err
			}
			if err := endMembership(tx, member, i == len(of)-1); err != nil {
				return err
			}
		}
		if len(of) > 0 {
			return nil
		}
		removed, err := tx.Exec("DELETE FROM users WHERE id = ?", id)
		if err != nil {
			return err
		}
		if removed == 0 {
			return errNoUser
		}
		return auditUser(tx, "removed", audit.Authorization, audit.SeverityKeys, id, audit.Metadata{"account_removed": true})
	})
}

var errNoUser = &db.Error{Code: db.NotFound, Message: "there is no such user; it may have been removed"}

// hasSecondFactor reports whether a user has a second factor. NotFound if the user
// does not exist.
func hasSecondFactor(tx *db.Tx, id string) (secondFactor bool, err error) {
	err = tx.Row("SELECT totp_secret IS NOT NULL FROM users WHERE id = ?", id).Scan(&secondFactor)
	if none, err := absent(err); none {
		return false, errNoUser
	} else if err != nil {
		return false, db.StoreError(err)
	}
	return secondFactor, nil
}

// requireUser returns NotFound if the user does not exist.
func requireUser(tx *db.Tx, id string) error {
	_, err := hasSecondFactor(tx, id)
	return err
}
