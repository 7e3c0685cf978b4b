package auth

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"

	"govsvc/db"
	"govsvc/db/sqlite"
)

// Users are the accounts of the people who may sign in.
type Users struct {
	store     *db.DB
	passwords *passwordHasher
}

// User may sign in to the dashboard. It has one name and one password in the
// file, and a role in each organisation that it is a member of.
type User struct {
	ID            string  `json:"id"`
	Name          string  `json:"name"`
	Role          Role    `json:"role"` // in the organisation that was asked about; "" if it is not a member
	SecondFactor  bool    `json:"second_factor"`
	RecoveryCodes int     `json:"recovery_codes"` // those not used yet
	CreatedAt     string  `json:"created_at"`
	UpdatedAt     string  `json:"updated_at"` // of the account or of the membership
	LastSignInAt  *string `json:"last_sign_in_at"`
}

const (
	maxNameLength = 200 // characters
	// userColumns are of users u and their membership m, if they have one.
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

var errNameLength = &db.Error{Code: db.Invalid, Param: "name", Message: "a user's name has 1 to 200 characters"}

// normalizeName brings a name to the form that is stored and shown, without white
// space around it and twice within, full-width letters and the like as plain
// ones; and to its key, in which capitals don't count either, by which names
// are compared (RFC 8266).
func normalizeName(typed string) (name, key string, err error) {
	if strings.TrimSpace(typed) == "" || len(typed) > maxTextBytes {
		return "", "", errNameLength
	}
	if name, err = precis.Nickname.String(typed); err == nil {
		key, err = precis.Nickname.CompareKey(name)
	}
	switch {
	case utf8.RuneCountInString(name) > maxNameLength:
		return "", "", errNameLength
	case err != nil:
		return "", "", &db.Error{
			Code: db.Invalid, Param: "name",
			Message: "a user's name has 1 to 200 letters, digits, signs and single spaces, and no control characters",
		}
	}
	return name, key, nil
}

// nameKey is the key of a name; "" if it can be no user's.
func nameKey(typed string) string {
	_, key, err := normalizeName(typed)
	if err != nil {
		return ""
	}
	return key
}

// List lists the members of an organisation by name, with their roles there.
func (u *Users) List(ctx context.Context, org db.Org) ([]User, error) {
	return u.users(ctx, org, "m.role IS NOT NULL")
}

// ListAll lists all users of the file by name, with their roles in an
// organisation.
func (u *Users) ListAll(ctx context.Context, org db.Org) ([]User, error) {
	return u.users(ctx, org, "true")
}

func (u *Users) users(ctx context.Context, org db.Org, which string) ([]User, error) {
	list := []User{}
	err := u.store.Each(ctx, func(row db.Scanner) error {
		u, err := scanUser(row)
		list = append(list, u)
		return err
	}, memberSelect+which+" ORDER BY u.name_key", org)
	return list, err
}

// ByName finds a user of the file by the name, in capitals or small letters.
// Its role is that in the organisation, or for 0 that in the organisation with
// which its sessions begin.
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

// Any tells whether there is a user yet.
func (u *Users) Any(ctx context.Context) (bool, error) {
	var found bool
	err := u.store.Row(ctx, "SELECT EXISTS (SELECT 1 FROM users)").Scan(&found)
	return found, db.StoreError(err)
}

// Create adds a user with a membership of the organisation. Its name exists
// once in the file, in capitals or small letters.
func (u *Users) Create(ctx context.Context, by db.Actor, name string, role Role, password string) (User, error) {
	return u.createUser(ctx, by, name, role, password, func(tx *db.Tx, _ string) ([]db.Org, error) { return []db.Org{tx.Org}, nil })
}

// CreateFirst adds an admin of every organisation to a file without users;
// Conflict if somebody was sooner.
func (u *Users) CreateFirst(ctx context.Context, by db.Actor, name, password string) (User, error) {
	return u.createUser(ctx, by, name, Admin, password, func(tx *db.Tx, id string) (all []db.Org, err error) {
		tx.ID = id
		var others bool
		if err := tx.Row("SELECT EXISTS (SELECT 1 FROM users)").Scan(&others); err != nil {
			return nil, db.StoreError(err)
		}
		if others {
			return nil, &db.Error{Code: db.Conflict, Message: "there is a user already; sign in, or ask an administrator for an account"}
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

// createUser adds a user with a role in the organisations that in returns. The
// log of each tells of it.
func (u *Users) createUser(ctx context.Context, by db.Actor, name string, role Role, plain string, in func(tx *db.Tx, id string) ([]db.Org, error)) (User, error) {
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
		orgs, err := in(tx, id)
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
		return auditIn(tx, orgs, userEvent("created", db.Authorization, db.SeverityKeys, id, db.Metadata{"name": name, "role": role}))
	})
	return made, err
}

// nameTaken refuses a name that a user of the file has. One that is not a member
// of the organisation can be made one.
func nameTaken(tx *db.Tx, name, key string) error {
	var member bool
	err := tx.Row("SELECT EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.seq = m.user_seq WHERE u.name_key = ? AND m.org_id = ?)", key, tx.Org).Scan(&member)
	if err != nil {
		return db.StoreError(err)
	}
	message := fmt.Sprintf("a user named %q exists already", name)
	if !member {
		message += " in another organisation; to add that user to this one, leave the password empty"
	}
	return &db.Error{Code: db.Conflict, Param: "name", Message: message}
}

// writeAccount is a change of what belongs to the whole file. The log that tells
// of it is that of the organisation the caller works on, or else the first.
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

// defaultOrg is the organisation that a session begins with.
func defaultOrg(tx *db.Tx) (db.Org, error) {
	var org db.Org
	err := tx.Row("SELECT seq FROM organisations WHERE removed_at IS NULL ORDER BY name <> ?, seq LIMIT 1", db.DefaultOrganisation).Scan(&org)
	return org, db.StoreError(err)
}

// userEvent is the audit event of what was done to a user, or by one with an
// account.
func userEvent(verb string, category db.Category, severity int, id string, metadata db.Metadata) db.AuditEvent {
	return db.AuditEvent{
		Action: "user." + verb, Category: category, Severity: severity,
		ResourceType: "user", ResourceID: id, Metadata: metadata,
	}
}

// auditUser appends an event about a user. Authentication concerns the account:
// the log of each organisation that the user is a member of has the event. Other
// events are in the log of the organisation of the change.
func auditUser(tx *db.Tx, verb string, category db.Category, severity int, id string, metadata db.Metadata) error {
	event := userEvent(verb, category, severity, id, metadata)
	if category != db.Authentication || id == "" {
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

// auditIn appends an event to the logs of organisations.
func auditIn(tx *db.Tx, orgs []db.Org, event db.AuditEvent) error {
	at := tx.Org
	defer func() { tx.Org = at }()
	metadata := event.Metadata
	for _, org := range orgs {
		tx.Org, event.Metadata = org, maps.Clone(metadata)
		if err := tx.Audit(event); err != nil {
			return err
		}
	}
	return nil
}

// hasSecondFactor reports whether a user exists and has a second factor.
func hasSecondFactor(tx *db.Tx, id string) (secondFactor bool, err error) {
	err = tx.Row("SELECT totp_secret IS NOT NULL FROM users WHERE id = ?", id).Scan(&secondFactor)
	if none, err := absent(err); none {
		return false, errNoUser
	} else if err != nil {
		return false, db.StoreError(err)
	}
	return secondFactor, nil
}

var errNoUser = &db.Error{Code: db.NotFound, Message: "there is no such user; it may have been removed"}

// errOwnAccount keeps a session that was left open from doing without what is
// asked of its user.
var errOwnAccount = &db.Error{Code: db.Conflict, Message: "this is your own account: change it on its page, where the current password or a code is asked for"}

// SetPassword gives another user a new password and ends its sessions. Errors:
// Invalid for the password; Conflict for the caller's own account, see
// ChangeOwnPassword, and for one that the caller does not manage, see
// ManagesAccount.
func (u *Users) SetPassword(ctx context.Context, by db.Actor, id, plain string) error {
	if by.ID == id {
		return errOwnAccount
	}
	stored, err := credentialsOf(ctx, u.store, "u.id = ?", id)
	if err != nil {
		return err
	}
	if stored.id == "" {
		return errNoUser
	}
	next, err := u.passwords.newPassword(ctx, by.Address, "password", stored.name, plain)
	if err != nil {
		return err
	}
	return writeAccount(ctx, u.store, by, func(tx *db.Tx) error {
		if err := requireManaged(tx, id); err != nil {
			return err
		}
		return setPassword(tx, stored, next, Session{})
	})
}

// setPassword stores a password in the place of the one that was read, and
// ends the user's sessions but the one to keep.
func setPassword(tx *db.Tx, stored credentials, next password, keep Session) error {
	changed, err := tx.Exec("UPDATE users SET salt = ?, password_hash = ?, updated_at = ? WHERE seq = ? AND id = ? AND password_hash = ?",
		next.salt, next.hash, tx.At(), stored.seq, stored.id, stored.hash)
	if err != nil {
		return err
	}
	if changed == 0 {
		return &db.Error{Code: db.Conflict, Message: "the user was changed or removed by somebody else meanwhile; try again"}
	}
	ended, err := endOtherSessions(tx, stored.seq, keep)
	if err != nil {
		return err
	}
	return auditUser(tx, "password_changed", db.Authentication, db.SeveritySettings, stored.id, db.Metadata{"sessions_ended": ended})
}
