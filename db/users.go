package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"
)

// Role says what a user may do in the dashboard (contract, section 1).
type Role string

// The roles, the one that may most first.
const (
	Admin  Role = "admin"  // all of it
	Editor Role = "editor" // records, no keys, users or settings
	Viewer Role = "viewer" // looks
)

// Roles lists the roles, the one that may most first.
func Roles() []Role { return []Role{Admin, Editor, Viewer} }

// Includes tells whether the role may do all that another may.
func (r Role) Includes(other Role) bool {
	mine, others := slices.Index(Roles(), r), slices.Index(Roles(), other)
	return mine >= 0 && others >= mine
}

// User may sign in to the dashboard. Users are of the whole file, not of an
// organisation.
type User struct {
	ID            string  `json:"id"`
	Name          string  `json:"name"`
	Role          Role    `json:"role"`
	SecondFactor  bool    `json:"second_factor"`
	RecoveryCodes int     `json:"recovery_codes"` // those not used yet
	CreatedAt     string  `json:"created_at"`
	UpdatedAt     string  `json:"updated_at"`
	LastSignInAt  *string `json:"last_sign_in_at"`
}

const (
	longestUserName = 200 // characters
	userColumns     = `u.id, u.name, u.role, u.totp_secret IS NOT NULL,
	(SELECT count(*) FROM recovery_codes c WHERE c.user_seq = u.seq AND c.used_at IS NULL),
	u.created_at, u.updated_at, u.last_sign_in_at`
)

func (u *User) fields() []any {
	return []any{&u.ID, &u.Name, &u.Role, &u.SecondFactor, &u.RecoveryCodes, &u.CreatedAt, &u.UpdatedAt, &u.LastSignInAt}
}

func scanUser(row scanner) (User, error) {
	var u User
	err := row.Scan(u.fields()...)
	return u, err
}

var errNameLength = &Error{Code: Invalid, Param: "name", Message: "a user's name has 1 to 200 characters"}

// userName brings a name to the form that is stored and shown, without white
// space around it and twice within, full-width letters and the like as plain
// ones; and to its key, in which capitals don't count either, by which names
// are compared (RFC 8266).
func userName(typed string) (name, key string, err error) {
	if strings.TrimSpace(typed) == "" || len(typed) > longestText {
		return "", "", errNameLength
	}
	if name, err = precis.Nickname.String(typed); err == nil {
		key, err = precis.Nickname.CompareKey(name)
	}
	switch {
	case utf8.RuneCountInString(name) > longestUserName:
		return "", "", errNameLength
	case err != nil:
		return "", "", &Error{
			Code: Invalid, Param: "name",
			Message: "a user's name has 1 to 200 letters, digits, signs and single spaces, and no control characters",
		}
	}
	return name, key, nil
}

// nameKey is the key of a name; "" if it can be no user's.
func nameKey(typed string) string {
	_, key, err := userName(typed)
	if err != nil {
		return ""
	}
	return key
}

// Users lists all users by name.
func (d *DB) Users(ctx context.Context) ([]User, error) {
	list := []User{}
	err := d.rows(ctx, func(row scanner) error {
		u, err := scanUser(row)
		list = append(list, u)
		return err
	}, "SELECT "+userColumns+" FROM users u ORDER BY u.name_key")
	return list, err
}

// UserByName finds a user by the name, in capitals or small letters.
func (d *DB) UserByName(ctx context.Context, name string) (User, error) {
	u, err := scanUser(d.row(ctx, "SELECT "+userColumns+" FROM users u WHERE u.name_key = ?", nameKey(name)))
	if none, err := absent(err); none {
		return u, &Error{Code: NotFound, Message: fmt.Sprintf("no user is named %.200q; `govsvc users list` shows them", name)}
	} else if err != nil {
		return u, storeError(err)
	}
	return u, nil
}

// AnyUser tells whether there is a user yet.
func (d *DB) AnyUser(ctx context.Context) (bool, error) {
	var found bool
	err := d.row(ctx, "SELECT EXISTS (SELECT 1 FROM users)").Scan(&found)
	return found, storeError(err)
}

// CreateUser adds a user. Its name is there once, in capitals or small letters.
func (d *DB) CreateUser(ctx context.Context, by By, name string, role Role, password string) (User, error) {
	return d.createUser(ctx, by, name, role, password, func(*Tx, string) error { return nil })
}

// CreateFirstUser adds an admin to a file without users; Conflict if somebody
// was sooner.
func (d *DB) CreateFirstUser(ctx context.Context, by By, name, password string) (User, error) {
	return d.createUser(ctx, by, name, Admin, password, func(tx *Tx, id string) error {
		tx.Actor = id
		var others bool
		if err := tx.row("SELECT EXISTS (SELECT 1 FROM users)").Scan(&others); err != nil {
			return storeError(err)
		}
		if others {
			return &Error{Code: Conflict, Message: "there is a user already; sign in, or ask an administrator for an account"}
		}
		return nil
	})
}

func (d *DB) createUser(ctx context.Context, by By, name string, role Role, plain string, check func(tx *Tx, id string) error) (User, error) {
	var made User
	name, key, err := userName(name)
	if err != nil {
		return made, err
	}
	if !slices.Contains(Roles(), role) {
		return made, oneOf("role", Roles())
	}
	secret, err := d.newPassword(ctx, by.Address, "password", name, plain)
	if err != nil {
		return made, err
	}
	err = d.writeUser(ctx, by, func(tx *Tx) error {
		id := tx.newID()
		if err := check(tx, id); err != nil {
			return err
		}
		_, err := tx.exec(`INSERT INTO users (id, name, name_key, role, salt, password_hash, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, id, name, key, role, secret.salt, secret.hash, tx.At(), tx.At())
		if unique(err) {
			return &Error{Code: Conflict, Param: "name", Message: fmt.Sprintf("a user named %q exists already", name)}
		}
		if err != nil {
			return err
		}
		if made, err = tx.user(id); err != nil {
			return err
		}
		return tx.auditUser("created", Authorization, SeverityKeys, id, Metadata{"name": name, "role": role})
	})
	return made, err
}

// writeUser is a change of what belongs to the whole file. The log that tells
// of it is that of the organisation the caller works on, or else the first.
func (d *DB) writeUser(ctx context.Context, by By, run func(*Tx) error) error {
	return d.Write(ctx, by, func(tx *Tx) error {
		if tx.Org == 0 {
			var err error
			if tx.Org, err = tx.firstOrg(); err != nil {
				return err
			}
		}
		return run(tx)
	})
}

// firstOrg is the organisation that a session begins with.
func (tx *Tx) firstOrg() (Org, error) {
	var org Org
	err := tx.row("SELECT seq FROM organisations WHERE removed_at IS NULL ORDER BY name <> ?, seq LIMIT 1", DefaultOrganisation).Scan(&org)
	return org, storeError(err)
}

// auditUser tells what was done to a user, or by one with an account.
func (tx *Tx) auditUser(verb string, category Category, severity int, id string, metadata Metadata) error {
	return tx.Audit(AuditEvent{
		Action: "user." + verb, Category: category, Severity: severity,
		ResourceType: "user", ResourceID: id, Metadata: metadata,
	})
}

func (tx *Tx) user(id string) (User, error) {
	u, err := scanUser(tx.row("SELECT "+userColumns+" FROM users u WHERE u.id = ?", id))
	if none, err := absent(err); none {
		return u, errNoUser
	} else if err != nil {
		return u, storeError(err)
	}
	return u, nil
}

var errNoUser = &Error{Code: NotFound, Message: "there is no such user; it may have been removed"}

// SetUserRole changes what a user may do, from the next request on.
func (d *DB) SetUserRole(ctx context.Context, by By, id string, role Role) (User, error) {
	var u User
	if !slices.Contains(Roles(), role) {
		return u, oneOf("role", Roles())
	}
	err := d.writeUser(ctx, by, func(tx *Tx) error {
		before, err := tx.user(id)
		if u = before; err != nil || before.Role == role {
			return err
		}
		if err := tx.keepAdmin(before); err != nil {
			return err
		}
		if _, err := tx.exec("UPDATE users SET role = ?, updated_at = ? WHERE id = ?", role, tx.At(), id); err != nil {
			return err
		}
		if u, err = tx.user(id); err != nil {
			return err
		}
		return tx.auditUser("updated", Authorization, SeverityKeys, id, Metadata{"changes": Changes{"role": {before.Role, role}}})
	})
	return u, err
}

// keepAdmin refuses to do without the last administrator.
func (tx *Tx) keepAdmin(u User) error {
	var others bool
	err := tx.row("SELECT EXISTS (SELECT 1 FROM users WHERE role = ? AND id <> ?)", Admin, u.ID).Scan(&others)
	if err == nil && u.Role == Admin && !others {
		return &Error{Code: Conflict, Param: "role", Message: fmt.Sprintf("%q is the last admin; make another user an admin first", u.Name)}
	}
	return storeError(err)
}

// RemoveUser removes a user and ends its sessions.
func (d *DB) RemoveUser(ctx context.Context, by By, id string) error {
	return d.writeUser(ctx, by, func(tx *Tx) error {
		u, err := tx.user(id)
		if err != nil {
			return err
		}
		if err := tx.keepAdmin(u); err != nil {
			return err
		}
		if _, err := tx.exec("DELETE FROM users WHERE id = ?", id); err != nil {
			return err
		}
		return tx.auditUser("removed", Authorization, SeverityKeys, id, Metadata{"name": u.Name, "role": u.Role})
	})
}

// errOwnAccount keeps a session that was left open from doing without what is
// asked of its user.
var errOwnAccount = &Error{Code: Conflict, Message: "this is your own account: change it on its page, where the current password or a code is asked for"}

// SetPassword gives another user a new password and ends its sessions. Errors:
// Invalid for the password; Conflict for the caller's own account, see
// ChangeOwnPassword.
func (d *DB) SetPassword(ctx context.Context, by By, id, plain string) error {
	if by.Actor == id {
		return errOwnAccount
	}
	stored, err := d.credentials(ctx, "u.id = ?", id)
	if err != nil {
		return err
	}
	if stored.id == "" {
		return errNoUser
	}
	next, err := d.newPassword(ctx, by.Address, "password", stored.name, plain)
	if err != nil {
		return err
	}
	return d.writeUser(ctx, by, func(tx *Tx) error {
		return tx.setPassword(stored, next, Session{})
	})
}

// setPassword stores a password in the place of the one that was read, and
// ends the user's sessions but the one to keep.
func (tx *Tx) setPassword(stored credentials, next password, keep Session) error {
	changed, err := tx.exec("UPDATE users SET salt = ?, password_hash = ?, updated_at = ? WHERE seq = ? AND id = ? AND password_hash = ?",
		next.salt, next.hash, tx.At(), stored.seq, stored.id, stored.hash)
	if err != nil {
		return err
	}
	if changed == 0 {
		return &Error{Code: Conflict, Message: "the user was changed or removed by somebody else meanwhile; try again"}
	}
	ended, err := tx.endOtherSessions(stored.seq, keep)
	if err != nil {
		return err
	}
	return tx.auditUser("password_changed", Authentication, SeveritySettings, stored.id, Metadata{"sessions_ended": ended})
}
