package db

import "context"

// SessionsOf lists the sessions of a user that have not ended, the one used
// last first.
func (d *DB) SessionsOf(ctx context.Context, userID string) ([]Session, error) {
	now := d.Now()
	list := []Session{}
	err := d.Each(ctx, func(row Scanner) error {
		s, err := scanSession(row)
		list = append(list, s)
		return err
	}, sessionsOf, userID, Timestamp(now), Timestamp(now.Add(-SessionIdle)))
	return list, err
}

var errNoSuchSession = &Error{Code: NotFound, Message: "this session has ended already"}

// EndSession ends another session of the session's user. NotFound if the user
// has no session with this ID, Conflict for the session itself.
func (d *DB) EndSession(ctx context.Context, s Session, id string) error {
	if id == s.ID() {
		return &Error{Code: Conflict, Message: "this is the session that you are using; sign out to end it"}
	}
	ended, err := d.endSessions(ctx, s, func(other Session) bool { return other.ID() == id })
	if err == nil && ended == 0 {
		err = errNoSuchSession
	}
	return err
}

// EndOtherSessions ends all sessions of the session's user but itself, and
// returns how many.
func (d *DB) EndOtherSessions(ctx context.Context, s Session) (int, error) {
	return d.endSessions(ctx, s, func(other Session) bool { return other.hash != s.hash })
}

// endSessions ends the sessions that are chosen, each with an audit event.
func (d *DB) endSessions(ctx context.Context, s Session, chosen func(Session) bool) (ended int, err error) {
	all, err := d.SessionsOf(ctx, s.User.ID)
	if err != nil {
		return 0, err
	}
	err = d.Write(ctx, s.Actor(), func(tx *Tx) error {
		ended = 0
		if err := tx.alive(s); err != nil {
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
			metadata := Metadata{"started_at": other.CreatedAt, "session_address": other.Address, "browser": other.Browser}
			if err := tx.auditUser("session_ended", Authentication, SeverityWrite, s.User.ID, metadata); err != nil {
				return err
			}
		}
		return nil
	})
	return ended, err
}
