package db

import (
	"context"
	"encoding/json"
)

// KeyUse is the use of a key since its last use was stored.
type KeyUse struct {
	At     string   // a timestamp
	Scopes []string // that it used for the first time
}

// Usage is the service for the use of keys, scopes and rate limits by requests.
type Usage struct{ db *DB }

// RecordKeyUses stores when keys were last used, and which of their scopes they used. It
// takes the uses by the ids of the keys.
func (u Usage) RecordKeyUses(ctx context.Context, used map[string]KeyUse) error {
	return u.db.Maintain(ctx, func(tx *Tx) error {
		for _, id := range sortedKeys(used) {
			if _, err := tx.Exec("UPDATE api_keys SET last_used_at = ? WHERE id = ?", used[id].At, id); err != nil {
				return err
			}
			for _, scope := range used[id].Scopes {
				if _, err := tx.Exec(`INSERT INTO key_scope_uses (key_seq, scope, first_used_at)
					SELECT seq, ?2, ?3 FROM api_keys WHERE id = ?1 ON CONFLICT DO NOTHING`, id, scope, used[id].At); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// UnusedScopes returns the scopes that the keys of an organisation never used, by the ids
// of the keys. A key without an entry used all of its scopes.
func (u Usage) UnusedScopes(ctx context.Context, org Org) (map[string][]string, error) {
	unused := map[string][]string{}
	err := u.db.Each(ctx, func(row Scanner) error {
		var id string
		var scopes []byte
		var list []string
		if err := row.Scan(&id, &scopes); err != nil {
			return err
		}
		err := json.Unmarshal(scopes, &list)
		unused[id] = list
		return err
	}, `SELECT k.id, json_group_array(s.value) FROM api_keys k, json_each(k.scopes) s
		WHERE k.org_id = ? AND NOT EXISTS (SELECT 1 FROM key_scope_uses u WHERE u.key_seq = k.seq AND u.scope = s.value)
		GROUP BY k.seq`, org)
	return unused, err
}

// RequestCount is the number of requests of a subject of the rate limiter in a slot of
// time. Slot is its start in Unix seconds.
type RequestCount struct {
	Subject  string
	Slot     int64
	Requests int
}

// AddRequestCounts adds to the stored counts and removes those of slots that started before
// since.
func (u Usage) AddRequestCounts(ctx context.Context, counts []RequestCount, since int64) error {
	return u.db.Maintain(ctx, func(tx *Tx) error {
		for _, c := range counts {
			if _, err := tx.Exec(`INSERT INTO limiter_counts (subject, slot, requests) VALUES (?1, ?2, ?3)
				ON CONFLICT (subject, slot) DO UPDATE SET requests = requests + ?3`, c.Subject, c.Slot, c.Requests); err != nil {
				return err
			}
		}
		_, err := tx.Exec("DELETE FROM limiter_counts WHERE slot < ?", since)
		return err
	})
}

// RequestCounts reads the counts of slots that started at or after since.
func (u Usage) RequestCounts(ctx context.Context, since int64) ([]RequestCount, error) {
	var counts []RequestCount
	err := u.db.Each(ctx, func(row Scanner) error {
		var c RequestCount
		err := row.Scan(&c.Subject, &c.Slot, &c.Requests)
		counts = append(counts, c)
		return err
	}, "SELECT subject, slot, requests FROM limiter_counts WHERE slot >= ?", since)
	return counts, err
}
