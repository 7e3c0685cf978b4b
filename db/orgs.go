package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"govsvc/db/sqlite"
)

// Org is the number of an organisation within the file.
type Org int64

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

// Orgs manages organisations.
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

// ByNameWithRemoved finds an organisation by name, even a removed one, because its audit log
// remains.
func (s Orgs) ByNameWithRemoved(ctx context.Context, name string) (Organisation, error) {
	return s.byName(ctx, name, "")
}

func (s Orgs) byName(ctx context.Context, name, and string) (Organisation, error) {
	o, err := scanOrganisation(s.db.Row(ctx, "SELECT "+organisationColumns+" FROM organisations WHERE name = ?"+and, name))
	if missing, err := Absent(err); missing || err != nil {
		if missing {
			return o, NoOrganisation(name)
		}
		return o, storeError(err)
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
			return storeError(err)
		}
		tx.Org = made.Org
		err = tx.Audit(AuditEvent{
			Action: "organisation.created", Category: Configuration, Severity: SeveritySettings,
			ResourceType: "organisation", ResourceID: made.ID, Metadata: Metadata{"name": name, "plan": plan},
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
			return storeError(err)
		}
		if after = present; plan == present.Plan && subscription == present.Subscription {
			return nil
		}
		before = present
		after, err = scanOrganisation(tx.Returning(`UPDATE organisations SET plan = ?, subscription = ?, updated_at = ?
			WHERE seq = ? RETURNING `+organisationColumns, plan, subscription, tx.At(), before.Org))
		if err != nil {
			return storeError(err)
		}
		tx.Org = before.Org
		return tx.Audit(AuditEvent{
			Action: "organisation.updated", Category: Configuration, Severity: SeveritySettings,
			ResourceType: "organisation", ResourceID: before.ID, Metadata: Metadata{"changes": Changes{
				"plan": {before.Plan, after.Plan}, "subscription": {before.Subscription, after.Subscription},
			}.moved()},
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

// NoOrganisation is the error for a name that no organisation has.
func NoOrganisation(name string) error {
	return &Error{Code: NotFound, Message: fmt.Sprintf("no organisation is named %q; `govsvc orgs list` shows them", name)}
}

func organisationExists(name string) error {
	return &Error{Code: Conflict, Param: "name", Message: fmt.Sprintf("an organisation named %q exists already", name)}
}

func knownPlan(plan Plan) error {
	if !slices.Contains(Plans(), plan) {
		return NotOneOf("plan", Plans())
	}
	return nil
}

// NotOneOf is the error for a value that is not one of the allowed ones.
func NotOneOf[T ~string](param string, allowed []T) error {
	names := make([]string, len(allowed))
	for i, name := range allowed {
		names[i] = string(name)
	}
	return &Error{Code: Invalid, Param: param, Message: param + " must be one of " + strings.Join(names, ", ")}
}
