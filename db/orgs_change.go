package db

import (
	"context"
	"fmt"
	"strings"

	"govsvc/db/sqlite"
)

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
			return storeError(err)
		}
		tx.Org = before.Org
		return tx.Audit(AuditEvent{
			Action: "organisation.updated", Category: Configuration, Severity: SeveritySettings,
			ResourceType: "organisation", ResourceID: before.ID, Metadata: Metadata{"changes": Changes{"name": {name, to}}},
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
			return storeError(err)
		}
		if !others {
			return &Error{Code: Conflict, Message: fmt.Sprintf("%q is the last organisation of the file and can't be removed", name)}
		}
		tx.Org = org.Org
		if err := endMemberships(tx); err != nil {
			return err
		}
		return tx.Audit(AuditEvent{
			Action: "organisation.removed", Category: Configuration, Severity: SeveritySettings,
			ResourceType: "organisation", ResourceID: org.ID, Metadata: Metadata{"name": name},
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
// log, sessions, the outbox, idempotency records and revoked keys. It also ignores members
// of other organisations.
func belongings(tx *Tx, org Org) ([]string, error) {
	var tables, has []string
	err := tx.Each(func(row Scanner) error {
		var name string
		err := row.Scan(&name)
		tables = append(tables, name)
		return err
	}, `SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c ON c.name = 'org_id'
		WHERE t.type = 'table' AND t.name NOT IN ('audit_events', 'sessions', 'events', 'receiver_sets', 'fan_outs', 'idempotency_records', 'memberships') ORDER BY t.name`)
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
			return nil, storeError(err)
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
	return has, storeError(err)
}
