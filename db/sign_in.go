package db

import (
	"context"
	"strings"

	"govsvc/db/fair"
)

// SignInAttempt is what somebody gives to sign in.
type SignInAttempt struct {
	Name     string
	Password string
	Code     string // of the second factor, or a recovery code; empty at first
	Address  string // the client's, for the throttle, the session and the audit log
	Browser  string // its User-Agent header, for the session

	RequestID string // of the request, for the audit log
}

// credentials are what is stored of a user to know it by.
type credentials struct {
	seq      int64
	id, name string
	password
	secondFactor bool
}

// credentials reads those of the user that a condition chooses; without an id
// if there is none.
func (d *DB) credentials(ctx context.Context, where string, args ...any) (credentials, error) {
	var c credentials
	err := d.Row(ctx, "SELECT u.seq, u.id, u.name, u.salt, u.password_hash, u.totp_secret IS NOT NULL FROM users u WHERE "+where, args...).
		Scan(&c.seq, &c.id, &c.name, &c.salt, &c.hash, &c.secondFactor)
	if none, err := absent(err); none || err != nil {
		return credentials{}, storeError(err)
	}
	return c, nil
}

var (
	errWrongPassword = &Error{Code: Unauthenticated, Message: "the name or the password is wrong"}
	errCodeNeeded    = &Error{
		Code: CodeNeeded, Param: "code",
		Message: "enter the code that your authenticator app shows, or one of your recovery codes",
	}
	errNoMembership = &Error{
		Code:    Unauthenticated,
		Message: "this account is not a member of an organisation; ask an administrator to add it to one",
	}
	errWrongCode = &Error{
		Code: Unauthenticated, Param: "code",
		Message: "this code is wrong or was used before; enter the one that the app shows now, or a recovery code",
	}
)

// SignIn begins a session and returns its token, which is kept nowhere. Errors:
// Unauthenticated, in the same words and after the same work for a name that
// nobody has as for a wrong password; CodeNeeded, after a right password
// alone, where the user has a second factor; Throttled. Each but the last is
// told to the audit log, with the user's id if it is known; a name that is not
// known is left out, since it may be a password typed into the wrong field.
func (d *DB) SignIn(ctx context.Context, a SignInAttempt) (token string, s Session, err error) {
	if token, err = d.newToken(); err != nil {
		return "", s, err
	}
	key := nameKey(a.Name)
	group := fair.ClientGroup(a.Address)
	pair := subjectOf(perNameAndAddress, "pair", key, group)
	made, err := d.tries.take(d.Now(), pair, subjectOf(perName, "name", key), subjectOf(perAddress, "address", group))
	if err != nil {
		return "", s, err
	}
	known, right, err := d.recognise(ctx, a.Address, key, a.Password)
	if err != nil { // nothing was learnt by the try
		d.tries.giveBack(made)
		return "", s, err
	}
	code := subjectOf(perCode, "code", known.id)
	var guess try
	if right && known.secondFactor && a.Code != "" {
		if guess, err = d.tries.take(d.Now(), code); err != nil {
			return "", s, err
		}
	}
	s, refusal, err := d.admit(ctx, a, known, right, hashToken(token))
	switch {
	case err != nil: // the same
		d.tries.giveBack(made)
		d.tries.giveBack(guess)
		return "", s, err
	case refusal != nil && refusal.Code == CodeNeeded:
		// the password is right: only the address is charged, for the audit event
		d.tries.giveBack(try{made.at, made.subjects[:2]})
		return "", s, refusal
	case refusal != nil:
		return "", s, refusal
	}
	d.tries.giveBack(made)
	d.tries.forget(pair)
	d.tries.forget(code)
	return token, s, nil
}

// recognise finds the user of a name and tells whether the password is right.
func (d *DB) recognise(ctx context.Context, address, key, password string) (known credentials, right bool, err error) {
	if known, err = d.credentials(ctx, "u.name_key = ?", key); err != nil {
		return known, false, err
	}
	right, err = d.matches(ctx, address, password, known.password)
	return known, right, err
}

// admit begins the session or says why not; the audit log is told either way,
// also where the client has gone meanwhile.
func (d *DB) admit(ctx context.Context, a SignInAttempt, known credentials, right bool, hash string) (s Session, refusal *Error, err error) {
	by := Actor{ID: known.id, RequestID: a.RequestID}
	if known.id == "" {
		by.ID = "system"
	}
	err = d.writeUser(context.WithoutCancel(ctx), by, func(tx *Tx) error {
		s, refusal = Session{}, nil
		factor, reason, err := tx.judge(a, known, right)
		if err != nil {
			return err
		}
		if reason != "" {
			refusal = refusals[reason]
			return tx.auditUser("sign_in_refused", Authentication, SeverityRefused, known.id, signInMetadata(a, "reason", reason))
		}
		if _, err := tx.Exec("UPDATE users SET last_sign_in_at = ? WHERE seq = ?", tx.At(), known.seq); err != nil {
			return err
		}
		orgs, err := tx.organisationsOf(known.id)
		if err != nil {
			return err
		}
		if len(orgs) == 0 {
			refusal = errNoMembership
			return tx.auditUser("sign_in_refused", Authentication, SeverityRefused, known.id, signInMetadata(a, "reason", noMembership))
		}
		if s, err = tx.insertSession(known.seq, orgs[0], hash, SessionDetails{Address: a.Address, Browser: a.Browser}); err != nil {
			return err
		}
		return tx.auditUser("signed_in", Authentication, SeverityWrite, known.id, signInMetadata(a, "second_factor", factor))
	})
	return s, refusal, err
}

// The reasons for which a sign-in is refused, as the audit log has them.
const (
	unknownName   = "unknown_name"
	wrongPassword = "wrong_password"
	codeNeeded    = "code_needed"
	wrongCode     = "wrong_code"
	noMembership  = "no_membership"
)

var refusals = map[string]*Error{
	unknownName: errWrongPassword, wrongPassword: errWrongPassword, codeNeeded: errCodeNeeded, wrongCode: errWrongCode,
}

// judge tells by which second factor the user is let in, if it has one, or the
// reason why it is not. The user may have changed since it was read.
func (tx *Tx) judge(a SignInAttempt, known credentials, right bool) (factor, reason string, err error) {
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
		return "", "", storeError(err)
	case none:
		return "", wrongPassword, nil
	case !secondFactor:
		return "", "", nil
	case a.Code == "" || !known.secondFactor:
		return "", codeNeeded, nil
	}
	if factor, err = tx.useCode(known.seq, a.Code); err == nil && factor == "" {
		reason = wrongCode
	}
	return factor, reason, err
}

// Bounds in bytes of what sessions and the audit log keep of a client.
const (
	longestAddress = 64
	longestBrowser = 300
)

// shortened is the beginning of a text from outside, in at most so many bytes.
func shortened(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

func signInMetadata(a SignInAttempt, name, value string) Metadata {
	metadata := Metadata{}
	if value != "" {
		metadata[name] = value
	}
	if a.Address != "" {
		metadata["address"] = shortened(a.Address, longestAddress)
	}
	return metadata
}
