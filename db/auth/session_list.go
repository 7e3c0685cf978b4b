package auth

import (
	"context"

	"govsvc/db"
)

// List lists the sessions of a user that have not ended, the one used
// last first.
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

var errNoSuchSession = &db.Error{Code: db.NotFound, Message: "this session has ended already"}

// End ends another session of the session's user. NotFound if the user
// has no session with this ID, Conflict for the session itself.
func (s *Sessions) End(ctx context.Context, session Session, id string) error {
	if id == session.ID() {
		return &db.Error{Code: db.Conflict, Message: "this is the session that you are using; sign out to end it"}
	}
	ended, err := s.endSessions(ctx, session, func(other Session) bool { return other.ID() == id })
	if err == nil && ended == 0 {
		err = errNoSuchSession
	}
	return err
}

// EndOthers ends all sessions of the session's user but itself, and
// returns how many.
func (s *Sessions) EndOthers(ctx context.Context, session Session) (int, error) {
	return s.endSessions(ctx, session, func(other Session) bool { return other.hash != session.hash })
}

// endSessions ends the sessions that are chosen, each with an audit event.
func (s *Sessions) endSessions(ctx context.Context, session Session, chosen func(Session) bool) (ended int, err error) {
	all, err := s.List(ctx, session.User.ID)
	if err != nil {
		return 0, err
	}
	err = s.store.Write(ctx, session.Actor(), func(tx *db.Tx) error {
		ended = 0
		if err := requireSession(tx, session); err != nil {
			return err
		}
		for _, other := range all {
			if !chosen(other) {
				continue
			}
			gone, err := tx.Exec("DELETE FROM sessions WHERE token_hash = ?", []byte(other.hash))
			if err != nil {
				return err
			}
			if gone == 0 {
				continue
			}
			ended++
			metadata := db.Metadata{"started_at": other.CreatedAt, "session_address": other.Address, "browser": other.Browser}
			if err := auditUser(tx, "session_ended", db.Authentication, db.SeverityWrite, session.User.ID, metadata); err != nil {
				return err
			}
		}
		return nil
	})
	return ended, err
}
