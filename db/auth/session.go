package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
)

// The times after which a session ends.
const (
	// SessionIdle is how long a session lasts without a request.
	SessionIdle = 2 * time.Hour
	// SessionLife is the maximum duration of a session.
	SessionLife = 12 * time.Hour
)

// ConfirmedFor is how long a password or a code counts as fresh.
const ConfirmedFor = 10 * time.Minute

const (
	// sessionsPerUser bounds the sessions of a user. A new one ends the oldest.
	sessionsPerUser = 20
	tokenBytes      = 32
)

// Session is a period in which a user is signed in to the dashboard. It works on one
// organisation. The user's role is "" if the user is no longer a member of that one.
type Session struct {
	User         User
	Organisation db.Organisation
	CreatedAt    string
	SeenAt       string // the last request, to the minute
	ExpiresAt    string // the end, even of a session that is in use
	SessionDetails

	hash   string   // of the token; empty in the zero Session
	origin db.Actor // of the request that uses it: Address and RequestID
}

// SessionDetails describes how a session was started and confirmed.
type SessionDetails struct {
	Address     string  // of the client that signed in, as limits count it
	Browser     string  // the User-Agent header, truncated
	ConfirmedAt *string // when the user last gave the password or a code
}

// Actor returns the session's user, for changes in the session's organisation.
func (s Session) Actor() db.Actor {
	by := s.origin
	by.Org, by.ID = s.Organisation.Org, s.User.ID
	return by
}

// From returns the session with the origin of the request that uses it, for the
// audit log.
func (s Session) From(address, requestID string) Session {
	s.origin = db.Actor{Address: address, RequestID: requestID}
	return s
}

// Fresh reports whether the user gave the password or a code within
// ConfirmedFor before now.
func (s Session) Fresh(now time.Time) bool {
	return s.ConfirmedAt != nil && *s.ConfirmedAt > db.Timestamp(now.Add(-ConfirmedFor))
}

// ID identifies the session in pages. It gives no access to the session.
func (s Session) ID() string {
	id := sha256.Sum256([]byte("session id " + s.hash))
	return hex.EncodeToString(id[:16])
}

// newToken makes the token of a session. The file stores only its hash.
func newToken(store *db.DB) (string, error) {
	secret, err := store.RandomBytes(tokenBytes)
	return base64.RawURLEncoding.EncodeToString(secret), err
}

// hashToken returns what the file stores of a token.
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
	// sessionQuery takes the hash of a token, the time now and SessionIdle ago.
	sessionQuery = sessionSelect + "s.token_hash = ? AND s.expires_at > ? AND s.seen_at > ?"
	// sessionsQuery takes the id of a user and the same two times.
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

// maxBrowserBytes limits the name of the browser in a session.
const maxBrowserBytes = 300

// insertSession starts a session of a user in an organisation.
func insertSession(tx *db.Tx, userSeq int64, org db.Org, hash string, details SessionDetails) (Session, error) {
	expires := db.Timestamp(tx.Now().Add(SessionLife))
	if _, err := tx.Exec(`INSERT INTO sessions
		(token_hash, user_seq, org_id, created_at, seen_at, expires_at, address, browser, confirmed_at)
		VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?4)`, []byte(hash), userSeq, org, tx.At(), expires,
		audit.Truncate(details.Address, audit.MaxAddressBytes), audit.Truncate(details.Browser, maxBrowserBytes)); err != nil {
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

// renewSession gives a session another token, which signs out everybody who knows
// the old one. The user has just given the password or a code.
func renewSession(tx *db.Tx, s Session, token string) error {
	_, err := tx.Exec("UPDATE sessions SET token_hash = ?, confirmed_at = ? WHERE token_hash = ?",
		[]byte(hashToken(token)), tx.At(), []byte(s.hash))
	return err
}

// endOtherSessions ends all sessions of a user except one, and returns how many.
func endOtherSessions(tx *db.Tx, userSeq int64, keep Session) (int64, error) {
	return tx.Exec("DELETE FROM sessions WHERE user_seq = ? AND token_hash <> ?", userSeq, []byte(keep.hash))
}
