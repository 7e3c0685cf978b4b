package auth

import (
	"context"
	"encoding/base64"

	"govsvc/db"
	"govsvc/db/audit"
)

// Sessions starts, finds and ends the sessions of users.
type Sessions struct {
	store     *db.DB
	passwords *passwordHasher
	throttle  *throttle
	lastSeen  *lastSeen
}

// ByToken finds the session of a token and records that it was used. The user's role
// is the present one in the session's organisation. Unauthenticated if there is no
// such session or it has ended.
func (s *Sessions) ByToken(ctx context.Context, token string) (Session, error) {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return Session{}, errNoSession
	}
	hash, now := hashToken(token), s.store.Now()
	session, err := scanSession(s.store.Row(ctx, sessionQuery, []byte(hash), db.Timestamp(now), db.Timestamp(now.Add(-SessionIdle))))
	if err == nil && session.SeenAt <= db.Timestamp(now.Add(-lastSeenPrecision)) {
		s.lastSeen.record(hash, db.Timestamp(now))
	}
	return session, err
}

// List returns the sessions of a user that have not ended, the last used one first.
func (s *Sessions) List(ctx context.Context, userID string) ([]Session, error) {
	now := s.store.Now()
	list := []Session{}
	err := s.store.Each(ctx, func(row db.Scanner) error {
		session, err := scanSession(row)
		list = append(list, session)
		return err
	}, sessionsQuery, userID, db.Timestamp(now), db.Timestamp(now.Add(-SessionIdle)))
	return list, err
}

// SwitchOrganisation makes the session work on another organisation from the next
// request on. The audit log of that organisation records it. NotFound if the user is
// not a member of it, whether it exists or not.
func (s *Sessions) SwitchOrganisation(ctx context.Context, session Session, name string) error {
	org, err := s.store.Orgs.ByName(ctx, name)
	if err != nil {
		return err
	}
	by := session.Actor()
	by.Org = org.Org
	return s.store.Write(ctx, by, func(tx *db.Tx) error {
		if err := requireSession(tx, session); err != nil {
			return err
		}
		if _, err := memberByID(tx, session.User.ID); db.Is(err, db.NotFound) {
			return db.NoOrganisation(name)
		} else if err != nil || org.Org == session.Organisation.Org {
			return err
		}
		if _, err := tx.Exec("UPDATE sessions SET org_id = ? WHERE token_hash = ?", org.Org, []byte(session.hash)); err != nil {
			return err
		}
		return auditUser(tx, "organisation_entered", audit.DataAccess, audit.SeverityRead, session.User.ID, audit.Metadata{"from": session.Organisation.ID})
	})
}

// Sweep removes the sessions that have ended by themselves.
func (s *Sessions) Sweep(ctx context.Context) error {
	return s.store.Maintain(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("DELETE FROM sessions WHERE expires_at <= ? OR seen_at <= ?", tx.At(), db.Timestamp(tx.Now().Add(-SessionIdle)))
		return err
	})
}
