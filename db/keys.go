package db

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"golang.org/x/crypto/scrypt"

	"govsvc/db/audit"
)

// A key is gds_live_ or gds_test_, 12 characters that identify it, 32 secret
// ones and a tag of 8 (contract, section 3). The tag is made with a secret of
// the file, so that a mistyped or forged key is refused without a lookup.
const (
	livePrefix       = "gds_live_"
	testPrefix       = "gds_test_"
	formerLivePrefix = "gov_live_"
	formerTestPrefix = "gov_test_"

	identifying = 12
	secretPart  = 32
	tagPart     = 8
	// of a former key, whose form is not ours, this much identifies it
	formerIdentifying = 8
	formerMinimum     = 24  // characters behind the prefix
	keyMaximum        = 512 // bytes of any key
)

// The cost of a key's hash: 34 MB and some 50 ms.
const (
	scryptN, scryptR, scryptP = 32768, 8, 1
	hashLength                = 32
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// The kinds of key.
const (
	LiveKey = "live"
	TestKey = "test"
)

// Key is an API key as it may be shown: all but the secret.
type Key struct {
	Org        Org      `json:"-"`
	ID         string   `json:"id"`
	Prefix     string   `json:"prefix"` // the key up to its identifying part
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Scopes     []string `json:"scopes"`
	PerMinute  *int     `json:"rpm"` // overrides of the plan's limits
	PerDay     *int     `json:"rpd"`
	CreatedAt  string   `json:"created_at"`
	ExpiresAt  *string  `json:"expires_at"`
	RevokedAt  *string  `json:"revoked_at"`
	LastUsedAt *string  `json:"last_used_at"`
}

// KeyNameLimit is how many characters a key's name may have.
const KeyNameLimit = 200

// KeyDraft is what a new key is to be. The caller checks that its name has 1 to
// KeyNameLimit characters, and that its scopes are known ones.
type KeyDraft struct {
	Name      string
	Kind      string
	Scopes    []string
	ExpiresAt *time.Time
	PerMinute *int
	PerDay    *int
}

// ParsedKey is a presented key whose form and tag are right; whether it was
// ever minted is another question.
type ParsedKey struct {
	Kind   string
	Prefix string // finds its row
	Tagged bool   // of the current form: only this file can have made it
}

// Parse checks the form and the tag of a presented key. It reads nothing.
func (s Keys) Parse(key string) (ParsedKey, bool) {
	var p ParsedKey
	if len(key) > keyMaximum {
		return p, false
	}
	for _, form := range []struct{ prefix, kind string }{
		{livePrefix, LiveKey}, {testPrefix, TestKey}, {formerLivePrefix, LiveKey}, {formerTestPrefix, TestKey},
	} {
		rest, ok := strings.CutPrefix(key, form.prefix)
		if !ok {
			continue
		}
		p.Kind = form.kind
		if strings.HasPrefix(form.prefix, "gov_") {
			if len(rest) < formerMinimum {
				return p, false
			}
			p.Prefix = form.prefix + rest[:formerIdentifying]
			return p, true
		}
		if len(rest) != identifying+secretPart+tagPart {
			return p, false
		}
		p.Prefix, p.Tagged = form.prefix+rest[:identifying], true
		untagged := key[:len(key)-tagPart]
		return p, subtle.ConstantTimeCompare([]byte(s.tag(untagged)), []byte(key[len(key)-tagPart:])) == 1
	}
	return p, false
}

func (s Keys) tag(untagged string) string {
	mac := hmac.New(sha256.New, s.db.secrets.keyTag)
	mac.Write([]byte(untagged))
	n := binary.BigEndian.Uint64(mac.Sum(nil))
	tag := make([]byte, tagPart)
	for i := range tag {
		tag[i] = base62[n%62]
		n /= 62
	}
	return string(tag)
}

// randomText is n characters, each of 62 with the same chance.
func randomText(n int) string {
	text, buffer := make([]byte, 0, n), make([]byte, n)
	for len(text) < n {
		rand.Read(buffer) //nolint:errcheck // never fails; see its documentation
		for _, b := range buffer {
			if b < 4*62 && len(text) < n {
				text = append(text, base62[b%62])
			}
		}
	}
	return string(text)
}

func hashKey(key string, salt []byte) ([]byte, error) {
	return scrypt.Key([]byte(key), salt, scryptN, scryptR, scryptP, hashLength)
}

// Mint makes a key and returns it in plain text, for the only time.
func (s Keys) Mint(ctx context.Context, by Actor, draft KeyDraft) (Key, string, error) {
	return s.mint(ctx, by, draft, func(tx *Tx, made Key) error { return auditNewKey(tx, "key.minted", made) })
}

func (s Keys) mint(ctx context.Context, by Actor, draft KeyDraft, then func(*Tx, Key) error) (Key, string, error) {
	prefix := livePrefix
	if draft.Kind == TestKey {
		prefix = testPrefix
	}
	plain := prefix + randomText(identifying+secretPart)
	plain += s.tag(plain)
	made, err := s.store(ctx, by, draft, plain, plain[:len(prefix)+identifying], then)
	return made, plain, err
}

// Import stores the hash of a key that was minted elsewhere.
func (s Keys) Import(ctx context.Context, by Actor, draft KeyDraft, plain string) (Key, error) {
	parsed, ok := s.Parse(plain)
	if !ok {
		return Key{}, &Error{Code: Invalid, Param: "key", Message: "a key to import starts with " + formerLivePrefix +
			" or " + formerTestPrefix + " and has at least 24 more characters"}
	}
	draft.Kind = parsed.Kind
	known, err := s.ByPrefix(ctx, parsed.Prefix)
	if err != nil {
		return Key{}, err
	}
	for _, k := range known {
		if same, err := k.Matches(plain); err != nil || same {
			return Key{}, &Error{Code: Conflict, Param: "key", Message: "this key is stored already, with id " + k.ID, Err: err}
		}
	}
	return s.store(ctx, by, draft, plain, parsed.Prefix, func(tx *Tx, made Key) error { return auditNewKey(tx, "key.imported", made) })
}

const keyColumns = "org_id, id, prefix, name, kind, scopes, per_minute, per_day, created_at, expires_at, revoked_at, last_used_at"

func scanKey(row Scanner, more ...any) (Key, error) {
	var k Key
	var scopes []byte
	err := row.Scan(append([]any{
		&k.Org, &k.ID, &k.Prefix, &k.Name, &k.Kind, &scopes, &k.PerMinute, &k.PerDay,
		&k.CreatedAt, &k.ExpiresAt, &k.RevokedAt, &k.LastUsedAt,
	}, more...)...)
	if err != nil {
		return k, err
	}
	return k, json.Unmarshal(scopes, &k.Scopes)
}

func (s Keys) store(ctx context.Context, by Actor, draft KeyDraft, plain, prefix string, then func(*Tx, Key) error) (Key, error) {
	salt := make([]byte, 16)
	rand.Read(salt) //nolint:errcheck // never fails; see its documentation
	hash, err := s.hash(ctx, by.Address, plain, salt)
	if err != nil {
		return Key{}, err
	}
	var made Key
	err = s.db.Write(ctx, by, func(tx *Tx) error {
		made, err = insertKey(tx, draft, prefix, salt, hash)
		if err != nil {
			return err
		}
		return then(tx, made)
	})
	return made, err
}

func insertKey(tx *Tx, draft KeyDraft, prefix string, salt, hash []byte) (Key, error) {
	var expires *string
	if draft.ExpiresAt != nil {
		text := Timestamp(*draft.ExpiresAt)
		expires = &text
	}
	made, err := scanKey(tx.Returning(`INSERT INTO api_keys
		(org_id, id, name, kind, prefix, salt, hash, scopes, per_minute, per_day, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING `+keyColumns,
		tx.Org, tx.NewID(), draft.Name, draft.Kind, prefix, salt, hash, compact(draft.Scopes),
		draft.PerMinute, draft.PerDay, tx.At(), expires))
	return made, StoreError(err)
}

func auditNewKey(tx *Tx, action string, k Key) error {
	return auditKey(tx, action, k, audit.Metadata{"name": k.Name, "kind": k.Kind, "scopes": k.Scopes, "expires_at": k.ExpiresAt})
}

func auditKey(tx *Tx, action string, k Key, metadata audit.Metadata) error {
	return tx.Audit(audit.Event{
		Action: action, Category: audit.KeyManagement, Severity: audit.SeverityKeys,
		ResourceType: "api_key", ResourceID: k.ID, Metadata: metadata,
	})
}

// List lists an organisation's keys, newest first, revoked ones included.
func (s Keys) List(ctx context.Context, org Org) ([]Key, error) {
	list := []Key{}
	err := s.db.Each(ctx, func(row Scanner) error {
		k, err := scanKey(row)
		list = append(list, k)
		return err
	}, "SELECT "+keyColumns+" FROM api_keys WHERE org_id = ? ORDER BY created_at DESC, id DESC", org)
	return list, err
}

// find finds a key of the organisation by its id or displayed prefix.
func (s Keys) find(ctx context.Context, org Org, idOrPrefix string) (Key, error) {
	var found []Key
	err := s.db.Each(ctx, func(row Scanner) error {
		k, err := scanKey(row)
		found = append(found, k)
		return err
	}, "SELECT "+keyColumns+" FROM api_keys WHERE org_id = ?1 AND (id = ?2 OR prefix = ?2)", org, idOrPrefix)
	switch {
	case err != nil:
		return Key{}, err
	case len(found) == 0:
		return Key{}, &Error{Code: NotFound, Message: "no such key in this organisation; `govsvc keys list` shows ids and prefixes"}
	case len(found) > 1:
		return Key{}, &Error{Code: Conflict, Message: "several keys have this prefix; name the one you mean by its id"}
	}
	return found[0], nil
}

// Revoke ends a key at once. Revoking one that is revoked changes nothing.
func (s Keys) Revoke(ctx context.Context, by Actor, idOrPrefix string) (Key, error) {
	k, err := s.find(ctx, by.Org, idOrPrefix)
	if err != nil || k.RevokedAt != nil {
		return k, err
	}
	err = s.db.Write(ctx, by, func(tx *Tx) error {
		at := tx.At()
		k.RevokedAt = &at
		if _, err := tx.Exec("UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", at, k.ID); err != nil {
			return err
		}
		return auditKey(tx, "key.revoked", k, nil)
	})
	return k, err
}

// Rotate mints a successor with the same name, kind, scopes and limits, and
// lets the old key expire after the overlap, if it would not end sooner.
func (s Keys) Rotate(ctx context.Context, by Actor, idOrPrefix string, overlap time.Duration) (Key, string, error) {
	old, err := s.find(ctx, by.Org, idOrPrefix)
	if err != nil {
		return old, "", err
	}
	draft := KeyDraft{Name: old.Name, Kind: old.Kind, Scopes: old.Scopes, PerMinute: old.PerMinute, PerDay: old.PerDay}
	return s.mint(ctx, by, draft, func(tx *Tx, successor Key) error {
		until := Timestamp(tx.now.Add(overlap))
		changed, err := tx.Exec(`UPDATE api_keys SET expires_at = min(coalesce(expires_at, ?1), ?1)
			WHERE id = ?2 AND revoked_at IS NULL AND coalesce(expires_at, '~') > ?3`, until, old.ID, tx.At())
		if err != nil {
			return err
		}
		if changed == 0 {
			return &Error{Code: Conflict, Message: "this key is revoked or expired already; mint a new one with `govsvc keys mint`"}
		}
		return auditKey(tx, "key.rotated", old, audit.Metadata{"successor": successor.ID, "expires_at": until})
	})
}

// Ended tells whether the key is revoked or expired at an instant.
func (k Key) Ended(at time.Time) bool {
	return k.RevokedAt != nil || k.ExpiresAt != nil && *k.ExpiresAt <= Timestamp(at)
}

// StoredKey is a key with its hash and the terms it works under now.
type StoredKey struct {
	Key
	Organisation Organisation
	salt, hash   []byte
}

// Matches tells whether the plain text is this key's. It takes some 50 ms and
// 34 MB.
func (k *StoredKey) Matches(plain string) (bool, error) {
	hash, err := hashKey(plain, k.salt)
	return err == nil && subtle.ConstantTimeCompare(hash, k.hash) == 1, err
}

const storedKeyQuery = `SELECT k.org_id, k.id, k.prefix, k.name, k.kind, k.scopes, k.per_minute, k.per_day,
	k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.salt, k.hash,
	o.seq, o.id, o.name, o.plan, o.subscription, o.created_at, o.updated_at
	FROM api_keys k JOIN organisations o ON o.seq = k.org_id WHERE `

func scanStoredKey(row Scanner) (*StoredKey, error) {
	k := new(StoredKey)
	o := &k.Organisation
	var err error
	k.Key, err = scanKey(row, &k.salt, &k.hash, &o.Org, &o.ID, &o.Name, &o.Plan, &o.Subscription, &o.CreatedAt, &o.UpdatedAt)
	return k, err
}

// ByPrefix finds the keys that a presented one may be; former keys can
// share a prefix.
func (s Keys) ByPrefix(ctx context.Context, prefix string) ([]*StoredKey, error) {
	var found []*StoredKey
	err := s.db.Each(ctx, func(row Scanner) error {
		k, err := scanStoredKey(row)
		found = append(found, k)
		return err
	}, storedKeyQuery+"k.prefix = ?", prefix)
	return found, err
}

// ByID reads a key as it is now; nil if there is none.
func (s Keys) ByID(ctx context.Context, id string) (*StoredKey, error) {
	k, err := scanStoredKey(s.db.engine.Frequent.Row(ctx, storedKeyQuery+"k.id = ?", id))
	if none, err := Absent(err); none || err != nil {
		return nil, StoreError(err)
	}
	return k, nil
}
