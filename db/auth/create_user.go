package auth

import (
	"context"
	"fmt"
	"slices"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/sqlite"
)

// Create adds a user with a membership of the organisation. The name exists once in the
// file; letter case does not matter.
func (u *Users) Create(ctx context.Context, by db.Actor, name string, role Role, password string) (User, error) {
	return u.create(ctx, by, name, role, password, func(tx *db.Tx, _ string) ([]db.Org, error) { return []db.Org{tx.Org}, nil })
}

// CreateFirst adds an admin of every organisation to a file without users. Conflict if
// the file has a user.
func (u *Users) CreateFirst(ctx context.Context, by db.Actor, name, password string) (User, error) {
	return u.create(ctx, by, name, Admin, password, func(tx *db.Tx, id string) (all []db.Org, err error) {
		tx.ID = id
		var others bool
		if err := tx.Row("SELECT EXISTS (SELECT 1 FROM users)").Scan(&others); err != nil {
			return nil, db.StoreError(err)
		}
		if others {
			return nil, &db.Error{Code: db.Conflict, Message: "a user already exists; sign in, or ask an administrator for an account"}
		}
		err = tx.Each(func(row db.Scanner) error {
			var org db.Org
			err := row.Scan(&org)
			all = append(all, org)
			return err
		}, "SELECT seq FROM organisations WHERE removed_at IS NULL ORDER BY seq")
		return all, err
	})
}

// create adds a user with a role in the organisations that the function returns. The
// audit log of each organisation records it.
func (u *Users) create(ctx context.Context, by db.Actor, name string, role Role, plain string, organisations func(tx *db.Tx, id string) ([]db.Org, error)) (User, error) {
	var made User
	name, key, err := normalizeName(name)
	if err != nil {
		return made, err
	}
	if !slices.Contains(Roles(), role) {
		return made, errUnknownRole
	}
	secret, err := u.passwords.newPassword(ctx, by.Address, "password", name, plain)
	if err != nil {
		return made, err
	}
	err = writeAccount(ctx, u.store, by, func(tx *db.Tx) error {
		id := tx.NewID()
		orgs, err := organisations(tx, id)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO users (id, name, name_key, salt, password_hash, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, id, name, key, secret.salt, secret.hash, tx.At(), tx.At())
		if sqlite.IsUnique(err) {
			return nameTaken(tx, name, key)
		}
		if err != nil {
			return err
		}
		for _, org := range orgs {
			if err := addMembership(tx, id, org, role); err != nil {
				return err
			}
		}
		if made, err = memberByID(tx, id); err != nil {
			return err
		}
		return auditIn(tx, orgs, userEvent("created", audit.Authorization, audit.SeverityKeys, id, audit.Metadata{"name": name, "role": role}))
	})
	return made, err
}

// nameTaken returns the error for a name that a user of the file has.
func nameTaken(tx *db.Tx, name, key string) error {
	var member bool
	err := tx.Row("SELECT EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.seq = m.user_seq WHERE u.name_key = ? AND m.org_id = ?)", key, tx.Org).Scan(&member)
	if err != nil {
		return db.StoreError(err)
	}
	message := fmt.Sprintf("a user named %q already exists", name)
	if !member {
		message += " in another organisation; to add that user to this one, leave the password empty"
	}
	return &db.Error{Code: db.Conflict, Param: "name", Message: message}
}
