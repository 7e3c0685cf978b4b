package auth

import (
	"context"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/fair"
)

// SignInAttempt holds what a client sends to sign in.
type SignInAttempt struct {
	Name     string
	Password string
	Code     string // of the second factor, or a recovery code; empty at first
	Address  string // of the client, for the throttle, the session and the audit log
	Browser  string // the User-Agent header, for the session

	RequestID string // for the audit log
}

// credentials are the stored values that a user is authenticated with.
type credentials struct {
	seq      int64
	id, name string
	password
	secondFactor bool
}

// credentialsOf reads the credentials of the user that a condition selects. The id is
// "" if there is none.
func credentialsOf(ctx context.Context, store *db.DB, where string, args ...any) (credentials, error) {
	var c credentials
	err := store.Row(ctx, "SELECT u.seq, u.id, u.name, u.salt, u.password_hash, u.totp_secret IS NOT NULL FROM users u WHERE "+where, args...).
		Scan(&c.seq, &c.id, &c.name, &c.salt, &c.hash, &c.secondFactor)
	if none, err := absent(err); none || err != nil {
		return credentials{}, db.StoreError(err)
	}
	return c, nil
}

var (
	errWrongPassword = &db.Error{Code: db.Unauthenticated, Message: "the name or the password is wrong"}
	errCodeNeeded    = &db.Error{
		Code: db.CodeNeeded, Param: "code",
		Message: "enter the code that your authenticator app shows, or one of your recovery codes",
	}
	errNoMembership = &db.Error{
		Code:    db.Unauthenticated,
		Message: "this account is not a member of an organisation; ask an administrator to add it to one",
	}
	errWrongCode = &db.Error{
		Code: db.Unauthenticated, Param: "code",
		Message: "this code is wrong or was used before; enter the one that the app shows now, or a recovery code",
	}
)

// SignIn starts a session and returns its token, which is not stored. Errors:
// Unauthenticated, CodeNeeded and Throttled. An unknown name and a wrong password have
// the same message and take the same time. CodeNeeded means that the password is right
// and that the user has a second factor.
//
// The audit log records all refusals except Throttled, with the id of a known user. It
// does not record an unknown name: that may be a password in the wrong field.
func (s *Sessions) SignIn(ctx context.Context, a SignInAttempt) (token string, session Session, err error) {
	if token, err = newToken(s.store); err != nil {
		return "", session, err
	}
	key := nameKey(a.Name)
	group := fair.ClientGroup(a.Address)
	pair := subjectOf(perNameAndAddress, "pair", key, group)
	made, err := s.throttle.begin(s.store.Now(), pair, subjectOf(perName, "name", key), subjectOf(perAddress, "address", group))
	if err != nil {
		return "", session, err
	}
	known, right, err := s.passwords.authenticate(ctx, a.Address, key, a.Password)
	if err != nil { // the response does not reveal whether the password is right
		s.throttle.refund(made)
		return "", session, err
	}
	code := subjectOf(perCode, "code", known.id)
	var guess attempt
	if right && known.secondFactor && a.Code != "" {
		if guess, err = s.throttle.begin(s.store.Now(), code); err != nil {
			return "", session, err
		}
	}
	session, refusal, err := s.finishSignIn(ctx, a, known, right, hashToken(token))
	switch {
	case err != nil: // the response does not reveal whether the password is right
		s.throttle.refund(made)
		s.throttle.refund(guess)
		return "", session, err
	case refusal != nil && refusal.Code == db.CodeNeeded:
		// The password is right. The attempt still counts for the address, because it
		// writes an audit event.
		s.throttle.refund(attempt{made.at, made.subjects[:2]})
		return "", session, refusal
	case refusal != nil:
		return "", session, refusal
	}
	s.throttle.refund(made)
	s.throttle.reset(pair)
	s.throttle.reset(code)
	return token, session, nil
}

// authenticate finds the user of a name key and reports whether the password is
// right.
func (h *passwordHasher) authenticate(ctx context.Context, address, key, password string) (known credentials, right bool, err error) {
	if known, err = credentialsOf(ctx, h.store, "u.name_key = ?", key); err != nil {
		return known, false, err
	}
	right, err = h.matches(ctx, address, password, known.password)
	return known, right, err
}

// finishSignIn starts the session or returns the refusal. The audit log records both,
// even if the client has disconnected.
func (s *Sessions) finishSignIn(ctx context.Context, a SignInAttempt, known credentials, right bool, hash string) (session Session, refusal *db.Error, err error) {
	by := db.Actor{ID: known.id, RequestID: a.RequestID}
	if known.id == "" {
		by.ID = operator
	}
	err = writeAccount(context.WithoutCancel(ctx), s.store, by, func(tx *db.Tx) error {
		session, refusal = Session{}, nil
		factor, reason, err := verifyAttempt(tx, a, known, right)
		if err != nil {
			return err
		}
		if reason != "" {
			refusal = refusals[reason]
			return auditUser(tx, "sign_in_refused", audit.Authentication, audit.SeverityRefused, known.id, signInMetadata(a, "reason", reason))
		}
		if _, err := tx.Exec("UPDATE users SET last_sign_in_at = ? WHERE seq = ?", tx.At(), known.seq); err != nil {
			return err
		}
		orgs, err := organisationsOf(tx, known.id)
		if err != nil {
			return err
		}
		if len(orgs) == 0 {
			refusal = errNoMembership
			return auditUser(tx, "sign_in_refused", audit.Authentication, audit.SeverityRefused, known.id, signInMetadata(a, "reason", noMembership))
		}
		if session, err = insertSession(tx, known.seq, orgs[0], hash, SessionDetails{Address: a.Address, Browser: a.Browser}); err != nil {
			return err
		}
		return auditUser(tx, "signed_in", audit.Authentication, audit.SeverityWrite, known.id, signInMetadata(a, "second_factor", factor))
	})
	return session, refusal, err
}

// The reasons of refused sign-ins in the audit log.
const (
	unknownName   = "unknown_name"
	wrongPassword = "wrong_password"
	codeNeeded    = "code_needed"
	wrongCode     = "wrong_code"
	noMembership  = "no_membership"
)

var refusals = map[string]*db.Error{
	unknownName: errWrongPassword, wrongPassword: errWrongPassword, codeNeeded: errCodeNeeded, wrongCode: errWrongCode,
}

// verifyAttempt returns the second factor that was used, "" for none, or the reason of
// the refusal. It reads the user again, because it may have changed.
func verifyAttempt(tx *db.Tx, a SignInAttempt, known credentials, right bool) (factor, reason string, err error) {
	switch {
	case known.id == "":
		return "", unknownName, nil
	case !right:
		return "", wrongPassword, nil
	}
	var secondFactor bool
	err = tx.Row("SELECT totp_secret IS NOT NULL FROM users WHERE seq = ? AND id = ? AND password_hash = ?", known.seq, known.id, known.hash).Scan(&secondFactor)
	none, err := absent(err)
	switch {
	case err != nil:
		return "", "", db.StoreError(err)
	case none:
		return "", wrongPassword, nil
	case !secondFactor:
		return "", "", nil
	case a.Code == "" || !known.secondFactor:
		return "", codeNeeded, nil
	}
	if factor, err = useCode(tx, known.seq, a.Code); err == nil && factor == "" {
		reason = wrongCode
	}
	return factor, reason, err
}

func signInMetadata(a SignInAttempt, name, value string) audit.Metadata {
	metadata := audit.Metadata{}
	if value != "" {
		metadata[name] = value
	}
	if a.Address != "" {
		metadata["address"] = audit.Truncate(a.Address, audit.MaxAddressBytes)
	}
	return metadata
}
