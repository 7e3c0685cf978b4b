package auth

import (
	"context"

	"govsvc/db"
	"govsvc/db/audit"
)

// SignOut ends the session. It does nothing if the session has ended already.
func (s *Sessions) SignOut(ctx context.Context, session Session) error {
	return s.store.Write(ctx, session.Actor(), func(tx *db.Tx) error {
		ended, err := tx.Exec("DELETE FROM sessions WHERE token_hash = ?", []byte(session.hash))
		if err != nil || ended == 0 {
			return err
		}
		return auditUser(tx, "signed_out", audit.Authentication, audit.SeverityWrite, session.User.ID, nil)
	})
}

// SignOutEverywhere ends all sessions of a user. Errors: NotFound; Conflict for an
// account that the caller does not manage, see Memberships.ManagesAccount.
func (s *Sessions) SignOutEverywhere(ctx context.Context, by db.Actor, userID string) error {
	return writeAccount(ctx, s.store, by, func(tx *db.Tx) error {
		if err := requireUser(tx, userID); err != nil {
			return err
		}
		if err := requireManaged(tx, userID); err != nil {
			return err
		}
		ended, err := tx.Exec("DELETE FROM sessions WHERE user_seq = (SELECT seq FROM users WHERE id = ?)", userID)
		if err != nil || ended == 0 {
			return err
		}
		return auditUser(tx, "signed_out", audit.Authentication, audit.SeverityWrite, userID, audit.Metadata{"sessions_ended": ended})
	})
}

// End ends another session of the session's user. Errors: NotFound if the user has no
// session with this ID, Conflict for the session itself.
func (s *Sessions) End(ctx context.Context, session Session, id string) error {
	if id == session.ID() {
		return &db.Error{Code: db.Conflict, Message: "this is the session that you are using; sign out to end it"}
	}
	ended, err := s.endSessions(ctx, session, func(other Session) bool { return other.ID() == id })
	if err == nil && ended == 0 {
		err = &db.Error{Code: db.NotFound, Message: "this session has ended already"}
	}
	return err
}

// EndOthers ends all other sessions of the session's user and returns how many.
func (s *Sessions) EndOthers(ctx context.Context, session Session) (int, error) {
	return s.endSessions(ctx, session, func(other Session) bool { return other.hash != session.hash })
}

// endSessions ends the sessions of the user that the function selects, each with an
// audit event.
func (s *Sessions) endSessions(ctx context.Context, session Session, selected func(Session) bool) (ended int, err error) {
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
			if !selected(other) {
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
			metadata := audit.Metadata{"started_at": other.CreatedAt, "session_address": other.Address, "browser": other.Browser}
			if err := auditUser(tx, "session_ended", audit.Authentication, audit.SeverityWrite, session.User.ID, metadata); err != nil {
				return err
			}
		}
		return nil
	})
	return ended, err
}
