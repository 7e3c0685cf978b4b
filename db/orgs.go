package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"govsvc/db/audit"
	"govsvc/db/sqlite"
)

// Org is the number of an organisation within the file. As an argument of a statement it
// also says that the statement uses rows of this organisation only.
type Org = sqlite.Owner

// DefaultOrganisation is the name of the organisation of a new file.
const DefaultOrganisation = "default"

// Plan determines the features and the rate limits of an organisation's keys.
type Plan string

// The plans, smallest first (contract, section 2).
const (
	Starter      Plan = "starter"
	Professional Plan = "professional"
	Business     Plan = "business"
	Enterprise   Plan = "enterprise"
)

// Plans returns the plans, smallest first.
func Plans() []Plan { return []Plan{Starter, Professional, Business, Enterprise} }

// Entitlements are what a plan includes.
type Entitlements struct {
	API       bool
	Features  []string // as in x-feature of the OpenAPI document
	PerMinute int      // requests of a key in a minute
	PerDay    int      // requests of a key in any 24 hours
}

// Entitlements returns what the plan includes.
func (p Plan) Entitlements() Entitlements {
	switch p {
	case Professional:
		return Entitlements{API: true, PerMinute: 120, PerDay: 20_000}
	case Business:
		return Entitlements{API: true, Features: []string{"incidents"}, PerMinute: 600, PerDay: 200_000}
	case Enterprise:
		return Entitlements{API: true, Features: []string{"incidents", "audit"}, PerMinute: 1_200, PerDay: 1_000_000}
	default:
		return Entitlements{PerMinute: 60, PerDay: 1_000}
	}
}

// Subscription is the payment state of an organisation's plan. Keys work only while it is
// active.
type Subscription string

// States of a subscription.
const (
	Active   Subscription = "active"
	PastDue  Subscription = "past_due"
	Canceled Subscription = "canceled"
)

// Subscriptions returns the states.
func Subscriptions() []Subscription { return []Subscription{Active, PastDue, Canceled} }

// Organisation owns records and keys.
type Organisation struct {
	Org          Org          `json:"-"`
	ID           string       `json:"id"`
	Name         string       `json:"name"`
	Plan         Plan         `json:"plan"`
	Subscription Subscription `json:"subscription"`
	CreatedAt    string       `json:"created_at"`
	UpdatedAt    string       `json:"updated_at"`
}

// Orgs is the service for organisations.
type Orgs struct{ db *DB }

const organisationColumns = "seq, id, name, plan, subscription, created_at, updated_at"

func scanOrganisation(row Scanner) (Organisation, error) {
	var o Organisation
	err := row.Scan(&o.Org, &o.ID, &o.Name, &o.Plan, &o.Subscription, &o.CreatedAt, &o.UpdatedAt)
	return o, err
}

// List returns the organisations by name, without the removed ones.
func (s Orgs) List(ctx context.Context) ([]Organisation, error) {
	return s.list(ctx, "WHERE removed_at IS NULL")
}

// ListWithRemoved returns the organisations by name, with the removed ones. It also reads
// files of older versions.
func (s Orgs) ListWithRemoved(ctx context.Context) ([]Organisation, error) {
	return s.list(ctx, "")
}

func (s Orgs) list(ctx context.Context, where string, args ...any) ([]Organisation, error) {
	list := []Organisation{}
	err := s.db.Each(ctx, func(row Scanner) error {
		o, err := scanOrganisation(row)
		list = append(list, o)
		return err
	}, "SELECT "+organisationColumns+" FROM organisations "+where+" ORDER BY name", args...)
	return list, err
}

// ByName finds an organisation by name. NotFound if it was removed.
func (s Orgs) ByName(ctx context.Context, name string) (Organisation, error) {
	return s.byName(ctx, name, " AND removed_at IS NULL")
}

// ByNameWithRemoved finds an organisation by name, even a removed one, because its
// audit log remains.
func (s Orgs) ByNameWithRemoved(ctx context.Context, name string) (Organisation, error) {
	return s.byName(ctx, name, "")
}

func (s Orgs) byName(ctx context.Context, name, and string) (Organisation, error) {
	o, err := scanOrganisation(s.db.Row(ctx, "SELECT "+organisationColumns+" FROM organisations WHERE name = ?"+and, name))
	if missing, err := Absent(err); missing || err != nil {
		if missing {
			return o, NoOrganisation(name)
		}
		return o, StoreError(err)
	}
	return o, nil
}

// Create adds an organisation with an active subscription and without members. It then
// calls the functions in the same transaction, whose Org is the new one. See
// auth.Memberships.CreateOrganisation, which adds an admin.
func (s Orgs) Create(ctx context.Context, by Actor, name string, plan Plan, then ...func(*Tx) error) (Organisation, error) {
	var made Organisation
	name, err := organisationName(name)
	if err == nil {
		err = knownPlan(plan)
	}
	if err != nil {
		return made, err
	}
	err = s.db.Write(ctx, by, func(tx *Tx) error {
		var err error
		made, err = scanOrganisation(tx.Returning(`INSERT INTO organisations (id, name, plan, subscription, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?) RETURNING `+organisationColumns, tx.NewID(), name, plan, Active, tx.At(), tx.At()))
		if sqlite.IsUnique(err) {
			return organisationExists(name)
		}
		if err != nil {
			return StoreError(err)
		}
		tx.Org = made.Org
		err = tx.Audit(audit.Event{
			Action: "organisation.created", Category: audit.Configuration, Severity: audit.SeveritySettings,
			ResourceType: "organisation", ResourceID: made.ID, Metadata: audit.Metadata{"name": name, "plan": plan},
		})
		for _, more := range then {
			if err == nil {
				err = more(tx)
			}
		}
		return err
	})
	return made, err
}

// SetPlan changes the plan and the subscription. An empty value keeps the present one. It
// writes nothing if both are equal.
func (s Orgs) SetPlan(ctx context.Context, by Actor, name string, plan Plan, subscription Subscription) (Organisation, error) {
	before, err := s.ByName(ctx, name)
	if err != nil {
		return before, err
	}
	if plan == "" {
		plan = before.Plan
	}
	if subscription == "" {
		subscription = before.Subscription
	}
	if err := knownPlan(plan); err != nil {
		return before, err
	}
	if !slices.Contains(Subscriptions(), subscription) {
		return before, NotOneOf("subscription", Subscriptions())
	}
	after := before
	err = s.db.Write(ctx, by, func(tx *Tx) error {
		present, err := scanOrganisation(tx.Row("SELECT "+organisationColumns+" FROM organisations WHERE seq = ?", before.Org))
		if err != nil {
			return StoreError(err)
		}
		if after = present; plan == present.Plan && subscription == present.Subscription {
			return nil
		}
		before = present
		after, err = scanOrganisation(tx.Returning(`UPDATE organisations SET plan = ?, subscription = ?, updated_at = ?
			WHERE seq = ? RETURNING `+organisationColumns, plan, subscription, tx.At(), before.Org))
		if err != nil {
			return StoreError(err)
		}
		tx.Org = before.Org
		return tx.Audit(audit.Event{
			Action: "organisation.updated", Category: audit.Configuration, Severity: audit.SeveritySettings,
			ResourceType: "organisation", ResourceID: before.ID, Metadata: audit.Metadata{"changes": audit.Changes{
				"plan": {From: before.Plan, To: after.Plan}, "subscription": {From: before.Subscription, To: after.Subscription},
			}.Moved()},
		})
	})
	return after, err
}

// organisationName checks a name and removes white space around it.
func organisationName(name string) (string, error) {
	if name = strings.TrimSpace(name); name == "" || utf8.RuneCountInString(name) > 200 {
		return "", &Error{Code: Invalid, Param: "name", Message: "an organisation's name has 1 to 200 characters"}
	}
	if strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name) {
		return "", &Error{Code: Invalid, Param: "name", Message: "an organisation's name has no line breaks or control characters"}
	}
	return name, nil
}

// NoOrganisation returns the error for a name that no organisation has.
func NoOrganisation(name string) error {
	return &Error{Code: NotFound, Message: fmt.Sprintf("no organisation is named %q; `govsvc orgs list` shows them", name)}
}

func organisationExists(name string) error {
	return &Error{Code: Conflict, Param: "name", Message: fmt.Sprintf("an organisation named %q already exists", name)}
}

func knownPlan(plan Plan) error {
	if !slices.Contains(Plans(), plan) {
		return NotOneOf("plan", Plans())
	}
	return nil
}

// NotOneOf returns the error for a value that is not one of the allowed ones.
func NotOneOf[T ~string](param string, allowed []T) error {
	names := make([]string, len(allowed))
	for i, name := range allowed {
		names[i] = string(name)
	}
	return &Error{Code: Invalid, Param: param, Message: param + " must be one of " + strings.Join(names, ", ")}
}

// Rename changes the name of an organisation.
func (s Orgs) Rename(ctx context.Context, by Actor, name, to string) (Organisation, error) {
	to, err := organisationName(to)
	if err != nil {
		return Organisation{}, err
	}
	before, err := s.ByName(ctx, name)
	if err != nil || before.Name == to {
		return before, err
	}
	after := before
	err = s.db.Write(ctx, by, func(tx *Tx) error {
		var err error
		after, err = scanOrganisation(tx.Returning(`UPDATE organisations SET name = ?, updated_at = ?
			WHERE seq = ? AND removed_at IS NULL RETURNING `+organisationColumns, to, tx.At(), before.Org))
		switch none, err := Absent(err); {
		case none:
			return NoOrganisation(name)
		case sqlite.IsUnique(err):
			return organisationExists(to)
		case err != nil:
			return StoreError(err)
		}
		tx.Org = before.Org
		return tx.Audit(audit.Event{
			Action: "organisation.updated", Category: audit.Configuration, Severity: audit.SeveritySettings,
			ResourceType: "organisation", ResourceID: before.ID, Metadata: audit.Metadata{"changes": audit.Changes{"name": {From: name, To: to}}},
		})
	})
	return after, err
}

// RemovedOrganisation is what remains of an organisation.
type RemovedOrganisation struct {
	ID        string `json:"id"`
	Name      string `json:"name"`      // before
	AuditLog  string `json:"audit_log"` // the name under which its audit log remains
	RemovedAt string `json:"removed_at"`
}

// Remove removes an organisation. Its audit log remains under another name. endMemberships
// ends memberships and sessions in the same transaction, whose Org is the removed one; see
// auth.Memberships.RemoveOrganisation.
//
// It refuses the default organisation and the last one. It also refuses an organisation
// with records, webhook subscriptions, evidence packs, keys that are not revoked or users
// of no other organisation.
func (s Orgs) Remove(ctx context.Context, by Actor, name string, endMemberships func(*Tx) error) (RemovedOrganisation, error) {
	org, err := s.ByName(ctx, name)
	if err != nil {
		return RemovedOrganisation{}, err
	}
	if name == DefaultOrganisation {
		return RemovedOrganisation{}, &Error{Code: Conflict, Message: `the organisation "default" can't be removed; rename it first if another one is to be used`}
	}
	removed := RemovedOrganisation{ID: org.ID, Name: org.Name}
	err = s.db.Write(ctx, by, func(tx *Tx) error {
		has, err := belongings(tx, org.Org)
		if err != nil {
			return err
		}
		if len(has) > 0 {
			return &Error{Code: Conflict, Message: fmt.Sprintf("the organisation %q is not empty: it has %s", name, strings.Join(has, ", "))}
		}
		removed.AuditLog, removed.RemovedAt = retainedName(name, tx.At()), tx.At()
		rows, err := tx.Exec("UPDATE organisations SET name = ?1, removed_at = ?2, updated_at = ?2 WHERE seq = ?3 AND removed_at IS NULL",
			removed.AuditLog, tx.At(), org.Org)
		if err != nil {
			return err
		}
		if rows == 0 {
			return NoOrganisation(name)
		}
		var others bool
		if err := tx.Row("SELECT EXISTS (SELECT 1 FROM organisations WHERE removed_at IS NULL)").Scan(&others); err != nil {
			return StoreError(err)
		}
		if !others {
			return &Error{Code: Conflict, Message: fmt.Sprintf("%q is the last organisation of the file and can't be removed", name)}
		}
		tx.Org = org.Org
		if err := endMemberships(tx); err != nil {
			return err
		}
		return tx.Audit(audit.Event{
			Action: "organisation.removed", Category: audit.Configuration, Severity: audit.SeveritySettings,
			ResourceType: "organisation", ResourceID: org.ID, Metadata: audit.Metadata{"name": name},
		})
	})
	return removed, err
}

// retainedName returns the name of a removed organisation. Another organisation can then
// have the old name.
func retainedName(name, at string) string {
	const longest = 160 // characters
	if letters := []rune(name); len(letters) > longest {
		name = string(letters[:longest])
	}
	return fmt.Sprintf("%s (removed %s)", name, at)
}

// belongings counts what an organisation has, as texts like "3 risks". It ignores the audit
// log, sessions, the outbox, idempotency records, revoked keys and what ends with a
// membership. It also ignores members of other organisations.
func belongings(tx *Tx, org Org) ([]string, error) {
	var tables, has []string
	err := tx.Each(func(row Scanner) error {
		var name string
		err := row.Scan(&name)
		tables = append(tables, name)
		return err
	}, `SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c ON c.name = 'org_id'
		WHERE t.type = 'table' AND t.name NOT IN ('audit_events', 'sessions', 'events', 'receiver_sets', 'fan_outs', 'idempotency_records', 'memberships', 'list_settings', 'list_views') ORDER BY t.name`)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		count, thing := "SELECT count(*) FROM "+table+" WHERE org_id = ?", strings.ReplaceAll(table, "_", " ")
		if table == "api_keys" {
			count, thing = count+" AND revoked_at IS NULL", "keys that are not revoked"
		}
		var n int
		if err := tx.Row(count, org).Scan(&n); err != nil {
			return nil, StoreError(err)
		}
		if n > 0 {
			has = append(has, fmt.Sprintf("%d %s", n, thing))
		}
	}
	var alone int
	err = tx.Row(`SELECT count(*) FROM memberships m WHERE m.org_id = ?1 AND NOT EXISTS
		(SELECT 1 FROM memberships other WHERE other.user_seq = m.user_seq AND other.org_id <> ?1)`, org).Scan(&alone)
	if alone > 0 {
		has = append(has, fmt.Sprintf("%d users of no other organisation", alone))
	}
	return has, StoreError(err)
}
