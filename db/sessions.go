package db

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"sync"
	"time"
)

// When a session ends by itself.
const (
	// SessionIdle is how long a session lasts without a request.
	SessionIdle = 2 * time.Hour
	// SessionLife is how long it lasts at most.
	SessionLife = 12 * time.Hour
)

const (
	seenEvery       = time.Minute // how exactly a session's last request is known
	sessionsPerUser = 20          // the oldest give way
	tokenBytes      = 32
)

// Session is a user's stay in the dashboard, at work on one organisation. The
// user's role is "" where it is no longer a member of that.
type Session struct {
	User         User
	Organisation Organisation
	CreatedAt    string
	SeenAt       string // the last request, to the minute
	ExpiresAt    string // the end, however busy it is
	SessionDetails

	hash   string // of the token; empty where nobody has signed in
	origin Actor  // of the request that uses it: Address and RequestID
}

// SessionDetails is what is known of how a session was started and confirmed.
type SessionDetails struct {
	Address     string  // of the client that signed in, as limits count it
	Browser     string  // its User-Agent header, shortened
	ConfirmedAt *string // when its user last gave the password or a code
}

// ConfirmedFor is how long a password or a code counts as fresh.
const ConfirmedFor = 10 * time.Minute

// Actor is the session's user, at work on its organisation.
func (s Session) Actor() Actor {
	by := s.origin
	by.Org, by.ID = s.Organisation.Org, s.User.ID
	return by
}

// From returns the session with the origin of the request that uses it, for
// the audit log.
func (s Session) From(address, requestID string) Session {
	s.origin = Actor{Address: address, RequestID: requestID}
	return s
}

// Fresh reports whether the user gave the password or a code within
// ConfirmedFor before now.
func (s Session) Fresh(now time.Time) bool {
	return s.ConfirmedAt != nil && *s.ConfirmedAt > Timestamp(now.Add(-ConfirmedFor))
}

// ID names the session in pages. Nobody can sign in with it.
func (s Session) ID() string {
	id := sha256.Sum256([]byte("session id " + s.hash))
	return hex.EncodeToString(id[:16])
}

// hashToken is what is stored of a session's token.
func hashToken(token string) string {
	hash := sha256.Sum256([]byte(token))
	return string(hash[:])
}

var errNoSession = &Error{Code: Unauthenticated, Message: "you are not signed in, or the session has ended; sign in again"}

const (
	sessionColumns = `SELECT ` + userColumns + `, o.seq, o.id, o.name, o.plan, o.subscription, o.created_at, o.updated_at,
	s.created_at, s.seen_at, s.expires_at, s.address, s.browser, s.confirmed_at, s.token_hash
	FROM sessions s JOIN users u ON u.seq = s.user_seq JOIN organisations o ON o.seq = s.org_id
	LEFT JOIN memberships m ON m.user_seq = s.user_seq AND m.org_id = s.org_id
	WHERE `
	oneSession = sessionColumns + "s.token_hash = ? AND s.expires_at > ? AND s.seen_at > ?"
	// sessionsOf takes the id of a user and the same two instants.
	sessionsOf = sessionColumns + "u.id = ? AND s.expires_at > ? AND s.seen_at > ? ORDER BY s.seen_at DESC, s.created_at DESC"
)

func scanSession(row Scanner) (Session, error) {
	var s Session
	var hash []byte
	o := &s.Organisation
	err := row.Scan(append(s.User.fields(), &o.Org, &o.ID, &o.Name, &o.Plan, &o.Subscription, &o.CreatedAt, &o.UpdatedAt,
		&s.CreatedAt, &s.SeenAt, &s.ExpiresAt, &s.Address, &s.Browser, &s.ConfirmedAt, &hash)...)
	s.hash = string(hash)
	if none, err := absent(err); none {
		return Session{}, errNoSession
	} else if err != nil {
		return Session{}, storeError(err)
	}
	return s, nil
}

// Session finds the session of a token, with its user's role in the organisation
// as it is now, and notes that it was used. Unauthenticated if there is none any more.
func (d *DB) Session(ctx context.Context, token string) (Session, error) {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return Session{}, errNoSession
	}
	hash, now := hashToken(token), d.Now()
	s, err := scanSession(d.Row(ctx, oneSession, []byte(hash), Timestamp(now), Timestamp(now.Add(-SessionIdle))))
	if err == nil && s.SeenAt <= Timestamp(now.Add(-seenEvery)) {
		d.seen.note(d, hash, Timestamp(now))
	}
	return s, err
}

// insertSession begins a session of the user, at work on the organisation, and
// returns it.
func (tx *Tx) insertSession(userSeq int64, org Org, hash string, details SessionDetails) (Session, error) {
	expires := Timestamp(tx.now.Add(SessionLife))
	if _, err := tx.Exec(`INSERT INTO sessions
		(token_hash, user_seq, org_id, created_at, seen_at, expires_at, address, browser, confirmed_at)
		VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?4)`, []byte(hash), userSeq, org, tx.At(), expires,
		shortened(details.Address, longestAddress), shortened(details.Browser, longestBrowser)); err != nil {
		return Session{}, err
	}
	if _, err := tx.Exec(`DELETE FROM sessions WHERE user_seq = ?1 AND token_hash <> ?2 AND token_hash NOT IN
		(SELECT token_hash FROM sessions WHERE user_seq = ?1 AND token_hash <> ?2 ORDER BY created_at DESC LIMIT ?3)`,
		userSeq, []byte(hash), sessionsPerUser-1); err != nil {
		return Session{}, err
	}
	return scanSession(tx.Row(oneSession, []byte(hash), "", ""))
}

// alive refuses a session that has ended since it was read.
func (tx *Tx) alive(s Session) error {
	_, err := scanSession(tx.Row(oneSession, []byte(s.hash), tx.At(), Timestamp(tx.now.Add(-SessionIdle))))
	return err
}

// newToken makes the token of a session, which is stored nowhere.
func (d *DB) newToken() (string, error) {
	secret, err := d.random(tokenBytes)
	return base64.RawURLEncoding.EncodeToString(secret), err
}

// renewSession gives a session another token, so that whoever knows the old one
// is signed out. The user has just proved who it is.
func (tx *Tx) renewSession(s Session, token string) error {
	_, err := tx.Exec("UPDATE sessions SET token_hash = ?, confirmed_at = ? WHERE token_hash = ?",
		[]byte(hashToken(token)), tx.At(), []byte(s.hash))
	return err
}

// endOtherSessions ends the sessions of a user but one, and returns how many.
func (tx *Tx) endOtherSessions(userSeq int64, keep Session) (int64, error) {
	return tx.Exec("DELETE FROM sessions WHERE user_seq = ? AND token_hash <> ?", userSeq, []byte(keep.hash))
}

// SwitchOrganisation lets the session work on another organisation that its user
// is a member of, from the next request on. The log of that organisation tells of
// it. NotFound for any other one, whether it exists or not.
func (d *DB) SwitchOrganisation(ctx context.Context, s Session, name string) error {
	org, err := d.Organisation(ctx, name)
	if err != nil {
		return err
	}
	by := s.Actor()
	by.Org = org.Org
	return d.Write(ctx, by, func(tx *Tx) error {
		if err := tx.alive(s); err != nil {
			return err
		}
		if _, err := tx.member(s.User.ID); Is(err, NotFound) {
			return noOrganisation(name)
		} else if err != nil || org.Org == s.Organisation.Org {
			return err
		}
		if _, err := tx.Exec("UPDATE sessions SET org_id = ? WHERE token_hash = ?", org.Org, []byte(s.hash)); err != nil {
			return err
		}
		return tx.auditUser("organisation_entered", DataAccess, SeverityRead, s.User.ID, Metadata{"from": s.Organisation.ID})
	})
}

// SignOut ends the session. One that has ended already stays so.
func (d *DB) SignOut(ctx context.Context, s Session) error {
	return d.Write(ctx, s.Actor(), func(tx *Tx) error {
		ended, err := tx.Exec("DELETE FROM sessions WHERE token_hash = ?", []byte(s.hash))
		if err != nil || ended == 0 {
			return err
		}
		return tx.auditUser("signed_out", Authentication, SeverityWrite, s.User.ID, nil)
	})
}

// SignOutEverywhere ends all sessions of a user. Conflict for an account that the
// caller does not manage, see ManagesAccount.
func (d *DB) SignOutEverywhere(ctx context.Context, by Actor, userID string) error {
	return d.writeUser(ctx, by, func(tx *Tx) error {
		if _, err := tx.account(userID); err != nil {
			return err
		}
		if err := tx.manage(userID); err != nil {
			return err
		}
		ended, err := tx.Exec("DELETE FROM sessions WHERE user_seq = (SELECT seq FROM users WHERE id = ?)", userID)
		if err != nil || ended == 0 {
			return err
		}
		return tx.auditUser("signed_out", Authentication, SeverityWrite, userID, Metadata{"sessions_ended": ended})
	})
}

// SweepSessions removes the sessions that have ended by themselves.
func (d *DB) SweepSessions(ctx context.Context) error {
	return d.maintain(ctx, func(tx *Tx) error {
		_, err := tx.Exec("DELETE FROM sessions WHERE expires_at <= ? OR seen_at <= ?", tx.At(), Timestamp(tx.now.Add(-SessionIdle)))
		return err
	})
}

// seen holds when sessions were last used until that is stored, which no
// request waits for.
type seen struct {
	mutex   sync.Mutex
	due     map[string]string // hash of the token → when
	writing bool
	closed  bool
	done    sync.WaitGroup
}

func (n *seen) note(d *DB, hash, at string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.closed {
		return
	}
	if n.due == nil {
		n.due = map[string]string{}
	}
	n.due[hash] = at
	if !n.writing {
		n.writing = true
		n.done.Go(func() { n.store(d) })
	}
}

// store writes what is due until nothing is. What can't be written now is
// forgotten: the session's next request notes it again.
func (n *seen) store(d *DB) {
	for due := n.take(); due != nil; due = n.take() {
		_ = d.maintain(context.Background(), func(tx *Tx) error {
			for _, hash := range sortedKeys(due) {
				if _, err := tx.Exec("UPDATE sessions SET seen_at = max(seen_at, ?) WHERE token_hash = ?", due[hash], []byte(hash)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// take gives what is due, and ends the writing where nothing is.
func (n *seen) take() map[string]string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	due := n.due
	n.due = nil
	n.writing = due != nil
	return due
}

// close waits until what is due is stored.
func (n *seen) close() {
	n.mutex.Lock()
	n.closed = true
	n.mutex.Unlock()
	n.done.Wait()
}
