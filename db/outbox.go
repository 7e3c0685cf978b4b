package db

import (
	"encoding/json"
	"slices"
	"strings"
)

// APIVersion is the version that answers and events carry.
const APIVersion = "2026-09-12"

// event is the envelope that receivers get (contract, "Events").
type event struct {
	ID         string `json:"id"`
	Object     string `json:"object"`
	Type       string `json:"type"`
	APIVersion string `json:"api_version"`
	CreatedAt  string `json:"created_at"`
	Data       any    `json:"data"`
}

// subscriber is a subscription that wants events.
type subscriber struct {
	seq   int64
	types []string // empty: all
}

// Raise writes an event into the outbox, with a delivery for each active
// subscription that wants it: they leave the house if the change is stored.
func (tx *Tx) Raise(kind string, data any) error {
	id := "evt_" + strings.ReplaceAll(tx.newID(), "-", "")
	body := compact(event{id, "event", kind, APIVersion, tx.At(), data})
	var seq int64
	err := tx.change("INSERT INTO events (org_id, id, type, body, created_at) VALUES (?, ?, ?, ?, ?) RETURNING seq",
		tx.Org, id, kind, body, tx.At()).Scan(&seq)
	if err != nil {
		return storeError(err)
	}
	subscribers, err := tx.subscribersOf()
	if err != nil {
		return err
	}
	for _, s := range subscribers {
		if len(s.types) > 0 && !slices.Contains(s.types, kind) {
			continue
		}
		if _, err := tx.exec(`INSERT INTO deliveries (id, event_seq, subscription_seq, due_at, created_at, updated_at)
			VALUES (?1, ?2, ?3, ?4, ?4, ?4)`, tx.newID(), seq, s.seq, tx.At()); err != nil {
			return err
		}
	}
	return nil
}

// subscribersOf reads the organisation's active subscriptions once a change.
func (tx *Tx) subscribersOf() ([]subscriber, error) {
	if tx.subscribers != nil {
		return *tx.subscribers, nil
	}
	list := []subscriber{}
	err := tx.rows(func(row scanner) error {
		var s subscriber
		var types []byte
		if err := row.Scan(&s.seq, &types); err != nil {
			return err
		}
		list = append(list, s)
		return json.Unmarshal(types, &list[len(list)-1].types)
	}, "SELECT seq, event_types FROM webhook_subscriptions WHERE org_id = ? AND active = 1", tx.Org)
	tx.subscribers = &list
	return list, err
}
