package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"time"

	"govsvc/db"
)

// When a session ends by itself.
const (
	// SessionIdle is how long a session lasts without a request.
	SessionIdle = 2 * time.Hour
	// SessionLife is how long it lasts at most.
	SessionLife = 12 * time.Hour
)

const (
	lastSeenPrecision       = time.Minute // how exactly a session's last request is known
	sessionsPerUser = 20          // the oldest give way
	tokenBytes      = 32
)

// Sessions are the stays of users in the dashboard.
type Sessions struct {
	store     *db.DB
	passwords *passwordHasher
	throttle  *throttle
	lastSeen  *lastSeen
}

// Session is a user's stay in the dashboard, at work on one organisation. The
// user's role is "" where it is no longer a member of that.
type Session struct {
	User         User
	Organisation db.Organisation
	CreatedAt    string
	SeenAt       string // the last request, to the minute
	ExpiresAt    string // the end, however busy it is
	SessionDetails

	hash   string   // of the token; empty where nobody has signed in
	origin db.Actor // of the request that uses it: Address and RequestID
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
func (s Session) Actor() db.Actor {
	by := s.origin
	by.Org, by.ID = s.Organisation.Org, s.User.ID
	return by
}

// From returns the session with the origin of the request that uses it, for
// the audit log.
func (s Session) From(address, requestID string) Session {
	s.origin = db.Actor{Address: address, RequestID: requestID}
	return s
}

// Fresh reports whether the user gave the password or a code within
// ConfirmedFor before now.
func (s Session) Fresh(now time.Time) bool {
	return s.ConfirmedAt != nil && *s.ConfirmedAt > db.Timestamp(now.Add(-ConfirmedFor))
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

var errNoSession = &db.Error{Code: db.Unauthenticated, Message: "you are not signed in, or the session has ended; sign in again"}

const (
	sessionSelect = `SELECT ` + userColumns + `, ` + organisationColumns + `,
	s.created_at, s.seen_at, s.expires_at, s.address, s.browser, s.confirmed_at, s.token_hash
	FROM sessions s JOIN users u ON u.seq = s.user_seq JOIN organisations o ON o.seq = s.org_id
	LEFT JOIN memberships m ON m.user_seq = s.user_seq AND m.org_id = s.org_id
	WHERE `
	sessionQuery = sessionSelect + "s.token_hash = ? AND s.expires_at > ? AND s.seen_at > ?"
	// sessionsQuery takes the id of a user and the same two instants.
	sessionsQuery = sessionSelect + "u.id = ? AND s.expires_at > ? AND s.seen_at > ? ORDER BY s.seen_at DESC, s.created_at DESC"
)

func scanSession(row db.Scanner) (Session, error) {
	var s Session
	var hash []byte
	err := row.Scan(slices.Concat(s.User.fields(), organisationFields(&s.Organisation), []any{
		&s.CreatedAt, &s.SeenAt, &s.ExpiresAt, &s.Address, &s.Browser, &s.ConfirmedAt, &hash,
	})...)
	s.hash = string(hash)
	if none, err := absent(err); none {
		return Session{}, errNoSession
	} else if err != nil {
		return Session{}, db.StoreError(err)
	}
	return s, nil
}

// ByToken finds the session of a token, with its user's role in the organisation
// as it is now, and notes that it was used. Unauthenticated if there is none any more.
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

// insertSession begins a session of the user, at work on the organisation, and
// returns it.
func insertSession(tx *db.Tx, userSeq int64, org db.Org, hash string, details SessionDetails) (Session, error) {
	expires := db.Timestamp(tx.Now().Add(SessionLife))
	if _, err := tx.Exec(`INSERT INTO sessions
		(token_hash, user_seq, org_id, created_at, seen_at, expires_at, address, browser, confirmed_at)
		VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?4)`, []byte(hash), userSeq, org, tx.At(), expires,
		truncate(details.Address, maxAddressBytes), truncate(details.Browser, maxBrowserBytes)); err != nil {
		return Session{}, err
	}
	if _, err := tx.Exec(`DELETE FROM sessions WHERE user_seq = ?1 AND token_hash <> ?2 AND token_hash NOT IN
		(SELECT token_hash FROM sessions WHERE user_seq = ?1 AND token_hash <> ?2 ORDER BY created_at DESC LIMIT ?3)`,
		userSeq, []byte(hash), sessionsPerUser-1); err != nil {
		return Session{}, err
	}
	return scanSession(tx.Row(sessionQuery, []byte(hash), "", ""))
}

// requireSession refuses a session that has ended since it was read.
func requireSession(tx *db.Tx, s Session) error {
	_, err := scanSession(tx.Row(sessionQuery, []byte(s.hash), tx.At(), db.Timestamp(tx.Now().Add(-SessionIdle))))
	return err
}

// newToken makes the token of a session, which is stored nowhere.
func newToken(store *db.DB) (string, error) {
	secret, err := store.RandomBytes(tokenBytes)
	return base64.RawURLEncoding.EncodeToString(secret), err
}

// renewSession gives a session another token, so that whoever knows the old one
// is signed out. The user has just proved who it is.
func renewSession(tx *db.Tx, s Session, token string) error {
	_, err := tx.Exec("UPDATE sessions SET token_hash = ?, confirmed_at = ? WHERE token_hash = ?",
		[]byte(hashToken(token)), tx.At(), []byte(s.hash))
	return err
}

// endOtherSessions ends the sessions of a user but one, and returns how many.
func endOtherSessions(tx *db.Tx, userSeq int64, keep Session) (int64, error) {
	return tx.Exec("DELETE FROM sessions WHERE user_seq = ? AND token_hash <> ?", userSeq, []byte(keep.hash))
}

// SwitchOrganisation lets the session work on another organisation that its user
// is a member of, from the next request on. The log of that organisation tells of
// it. NotFound for any other one, whether it exists or not.
func (s *Sessions) SwitchOrganisation(ctx context.Context, session Session, name string) error {
	org, err := s.store.Organisation(ctx, name)
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
		return auditUser(tx, "organisation_entered", db.DataAccess, db.SeverityRead, session.User.ID, db.Metadata{"from": session.Organisation.ID})
	})
}

// SignOut ends the session. One that has ended already stays so.
func (s *Sessions) SignOut(ctx context.Context, session Session) error {
	return s.store.Write(ctx, session.Actor(), func(tx *db.Tx) error {
		ended, err := tx.Exec("DELETE FROM sessions WHERE token_hash = ?", []byte(session.hash))
		if err != nil || ended == 0 {
			return err
		}
		return auditUser(tx, "signed_out", db.Authentication, db.SeverityWrite, session.User.ID, nil)
	})
}

// SignOutEverywhere ends all sessions of a user. Conflict for an account that the
// caller does not manage, see ManagesAccount.
func (s *Sessions) SignOutEverywhere(ctx context.Context, by db.Actor, userID string) error {
	return writeAccount(ctx, s.store, by, func(tx *db.Tx) error {
		if _, err := hasSecondFactor(tx, userID); err != nil {
			return err
		}
		if err := requireManaged(tx, userID); err != nil {
			return err
		}
		ended, err := tx.Exec("DELETE FROM sessions WHERE user_seq = (SELECT seq FROM users WHERE id = ?)", userID)
		if err != nil || ended == 0 {
			return err
		}
		return auditUser(tx, "signed_out", db.Authentication, db.SeverityWrite, userID, db.Metadata{"sessions_ended": ended})
	})
}

// Sweep removes the sessions that have ended by themselves.
func (s *Sessions) Sweep(ctx context.Context) error {
	return s.store.Maintain(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("DELETE FROM sessions WHERE expires_at <= ? OR seen_at <= ?", tx.At(), db.Timestamp(tx.Now().Add(-SessionIdle)))
		return err
	})
}
