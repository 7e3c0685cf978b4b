package auth

import (
	"slices"

	"govsvc/db"
)

// Role says what a user may do in an organisation (contract, section 1).
type Role string

// The roles. Permissions says what each of them may do.
const (
	Admin   Role = "admin"
	Editor  Role = "editor"
	Auditor Role = "auditor"
	Viewer  Role = "viewer"
)

// Roles lists the roles.
func Roles() []Role { return []Role{Admin, Editor, Auditor, Viewer} }

// Permission is what a role may allow.
type Permission string

// The permissions.
const (
	// OwnAccount allows users to change their own password, second factor and sessions.
	OwnAccount Permission = "own account"
	// ReadRecords allows reading records, their history and evidence packs.
	ReadRecords Permission = "read records"
	// WriteRecords allows adding, changing and importing records, and filing evidence
	// packs.
	WriteRecords Permission = "write records"
	// ReadOversight allows reading the audit log, keys, webhooks, users, settings and
	// the status of the service. It includes no secret.
	ReadOversight Permission = "read oversight"
	// Administer allows changing keys, webhooks, users and settings.
	Administer Permission = "administer"
)

// allowed holds the permissions of each role.
var allowed = map[Role][]Permission{
	Admin:   {OwnAccount, ReadRecords, WriteRecords, ReadOversight, Administer},
	Editor:  {OwnAccount, ReadRecords, WriteRecords},
	Auditor: {OwnAccount, ReadRecords, ReadOversight},
	Viewer:  {OwnAccount, ReadRecords},
}

// May reports whether the role has a permission. An unknown role has none.
func (r Role) May(p Permission) bool { return slices.Contains(allowed[r], p) }

// errUnknownRole refuses a role that is not one of Roles.
var errUnknownRole = &db.Error{Code: db.Invalid, Param: "role", Message: "role must be one of admin, editor, auditor, viewer"}
