package db

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"time"

	"govsvc/db/audit"
	"govsvc/db/fair"
)

// The kinds of keys.
const (
	LiveKey = "live"
	TestKey = "test"
)

// Key is an API key without its secret.
type Key struct {
	Org        Org      `json:"-"`
	ID         string   `json:"id"`
	Prefix     string   `json:"prefix"` // the key up to and with its identifying part
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Scopes     []string `json:"scopes"`
	PerMinute  *int     `json:"rpm"` // overrides of the limits of the plan
	PerDay     *int     `json:"rpd"`
	CreatedAt  string   `json:"created_at"`
	ExpiresAt  *string  `json:"expires_at"`
	RevokedAt  *string  `json:"revoked_at"`
	LastUsedAt *string  `json:"last_used_at"`
}

// KeyNameLimit bounds the name of a key, in characters.
const KeyNameLimit = 200

// KeyDraft describes a new key. The caller checks that its name has 1 to KeyNameLimit
// characters, and that its scopes exist.
type KeyDraft struct {
	Name      string
	Kind      string
	Scopes    []string
	ExpiresAt *time.Time
	PerMinute *int
	PerDay    *int
}

// Keys is the service for API keys. It limits the hashes that run at the same time.
// Keys of the current form can't be guessed. They have a separate queue, so that they
// do not wait behind guesses at keys of a former form.
type Keys struct {
	db              *DB
	current, former *fair.Semaphore
}

func newKeys(d *DB) Keys {
	return Keys{
		db:      d,
		current: fair.NewSemaphore(currentKeysAtOnce, waitingPerPrefix, waitingKeys),
		former:  fair.NewSemaphore(formerKeysAtOnce, waitingPerPrefix, waitingKeys),
	}
}

// Mint creates a key and returns its plain text, which is not stored.
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

// Import stores the hash of a key that another program minted.
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

// List returns the keys of an organisation, newest first, with revoked ones.
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

// Revoke revokes a key immediately. It does nothing if the key is revoked already.
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

// Rotate mints a successor with the same name, kind, scopes and limits. The old key expires
// after the overlap, or at its own expiry if that is earlier.
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

// Ended reports whether the key is revoked, or expired at an instant.
func (k Key) Ended(at time.Time) bool {
	return k.RevokedAt != nil || k.ExpiresAt != nil && *k.ExpiresAt <= Timestamp(at)
}

// StoredKey is a key with its hash and its organisation.
type StoredKey struct {
	Key
	Organisation Organisation
	salt, hash   []byte
}

// Matches reports whether the plain text is that of this key. It takes about 50 ms and
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

// ByPrefix returns the keys with this prefix. Keys of a former form can have the same one.
func (s Keys) ByPrefix(ctx context.Context, prefix string) ([]*StoredKey, error) {
	var found []*StoredKey
	err := s.db.Each(ctx, func(row Scanner) error {
		k, err := scanStoredKey(row)
		found = append(found, k)
		return err
	}, storedKeyQuery+"k.prefix = ?", prefix)
	return found, err
}

// ByID reads a key; nil if there is none.
func (s Keys) ByID(ctx context.Context, id string) (*StoredKey, error) {
	k, err := scanStoredKey(s.db.engine.Frequent.Row(ctx, storedKeyQuery+"k.id = ?", id))
	if none, err := Absent(err); none || err != nil {
		return nil, StoreError(err)
	}
	return k, nil
}
