package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Org is the number of an organisation within the file.
type Org int64

// DefaultOrganisation is the one that a new file has.
const DefaultOrganisation = "default"

// Plan decides what an organisation's keys may do, and how often.
type Plan string

// The plans, smallest first (contract, section 2).
const (
	Starter      Plan = "starter"
	Professional Plan = "professional"
	Business     Plan = "business"
	Enterprise   Plan = "enterprise"
)

// Plans lists the plans, smallest first.
func Plans() []Plan { return []Plan{Starter, Professional, Business, Enterprise} }

// Terms are what a plan includes.
type Terms struct {
	API       bool
	Features  []string // names as in the document's x-feature
	PerMinute int      // requests a key may make a minute
	PerDay    int      // and in any 24 hours
}

// Terms of the plan.
func (p Plan) Terms() Terms {
	switch p {
	case Professional:
		return Terms{API: true, PerMinute: 120, PerDay: 20_000}
	case Business:
		return Terms{API: true, Features: []string{"incidents"}, PerMinute: 600, PerDay: 200_000}
	case Enterprise:
		return Terms{API: true, Features: []string{"incidents", "audit"}, PerMinute: 1_200, PerDay: 1_000_000}
	default:
		return Terms{PerMinute: 60, PerDay: 1_000}
	}
}

// Subscription says whether an organisation's plan is paid for; only an active
// one lets its keys in.
type Subscription string

// The states of a subscription.
const (
	Active   Subscription = "active"
	PastDue  Subscription = "past_due"
	Canceled Subscription = "canceled"
)

// Subscriptions lists the states.
func Subscriptions() []Subscription { return []Subscription{Active, PastDue, Canceled} }

// Organisation is the owner of records and keys.
type Organisation struct {
	Org          Org          `json:"-"`
	ID           string       `json:"id"`
	Name         string       `json:"name"`
	Plan         Plan         `json:"plan"`
	Subscription Subscription `json:"subscription"`
	CreatedAt    string       `json:"created_at"`
	UpdatedAt    string       `json:"updated_at"`
}

const organisationColumns = "seq, id, name, plan, subscription, created_at, updated_at"

func scanOrganisation(row scanner) (Organisation, error) {
	var o Organisation
	err := row.Scan(&o.Org, &o.ID, &o.Name, &o.Plan, &o.Subscription, &o.CreatedAt, &o.UpdatedAt)
	return o, err
}

// Organisations lists them by name.
func (d *DB) Organisations(ctx context.Context) ([]Organisation, error) {
	list := []Organisation{}
	err := d.rows(ctx, func(row scanner) error {
		o, err := scanOrganisation(row)
		list = append(list, o)
		return err
	}, "SELECT "+organisationColumns+" FROM organisations ORDER BY name")
	return list, err
}

// Organisation finds one by its name.
func (d *DB) Organisation(ctx context.Context, name string) (Organisation, error) {
	o, err := scanOrganisation(d.row(ctx, "SELECT "+organisationColumns+" FROM organisations WHERE name = ?", name))
	if missing, err := absent(err); missing || err != nil {
		if missing {
			return o, &Error{Code: NotFound, Message: fmt.Sprintf("no organisation is named %q; `govsvc orgs list` shows them", name)}
		}
		return o, storeError(err)
	}
	return o, nil
}

// CreateOrganisation adds an organisation with an active subscription.
func (d *DB) CreateOrganisation(ctx context.Context, by By, name string, plan Plan) (Organisation, error) {
	var made Organisation
	if name = strings.TrimSpace(name); name == "" || utf8.RuneCountInString(name) > 200 {
		return made, &Error{Code: Invalid, Param: "name", Message: "an organisation's name has 1 to 200 characters"}
	}
	if strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name) {
		return made, &Error{Code: Invalid, Param: "name", Message: "an organisation's name has no line breaks or control characters"}
	}
	if err := knownPlan(plan); err != nil {
		return made, err
	}
	err := d.Write(ctx, by, func(tx *Tx) error {
		var err error
		made, err = scanOrganisation(tx.change(`INSERT INTO organisations (id, name, plan, subscription, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?) RETURNING `+organisationColumns, tx.newID(), name, plan, Active, tx.At(), tx.At()))
		if unique(err) {
			return &Error{Code: Conflict, Param: "name", Message: fmt.Sprintf("an organisation named %q exists already", name)}
		}
		if err != nil {
			return storeError(err)
		}
		tx.Org = made.Org
		return tx.Audit(AuditEvent{
			Action: "organisation.created", Category: Configuration, Severity: SeveritySettings,
			ResourceType: "organisation", ResourceID: made.ID, Metadata: Metadata{"name": name, "plan": plan},
		})
	})
	return made, err
}

// SetOrganisation changes plan and subscription; an empty one stays. Where both
// are as they were, nothing is written.
func (d *DB) SetOrganisation(ctx context.Context, by By, name string, plan Plan, subscription Subscription) (Organisation, error) {
	before, err := d.Organisation(ctx, name)
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
		return before, oneOf("subscription", Subscriptions())
	}
	after := before
	err = d.Write(ctx, by, func(tx *Tx) error {
		present, err := scanOrganisation(tx.row("SELECT "+organisationColumns+" FROM organisations WHERE seq = ?", before.Org))
		if err != nil {
			return storeError(err)
		}
		if after = present; plan == present.Plan && subscription == present.Subscription {
			return nil
		}
		before = present
		after, err = scanOrganisation(tx.change(`UPDATE organisations SET plan = ?, subscription = ?, updated_at = ?
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

func knownPlan(plan Plan) error {
	if !slices.Contains(Plans(), plan) {
		return oneOf("plan", Plans())
	}
	return nil
}

// oneOf is the refusal of a value that is not one of a few.
func oneOf[T ~string](param string, allowed []T) error {
	names := make([]string, len(allowed))
	for i, name := range allowed {
		names[i] = string(name)
	}
	return &Error{Code: Invalid, Param: param, Message: param + " must be one of " + strings.Join(names, ", ")}
}
