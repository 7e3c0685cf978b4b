package db

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// APIVersion is the version that answers and events carry.
const APIVersion = "2026-09-12"

// Message is an event as receivers get it: the id that they tell repetitions
// by, and the exact bytes that are signed and sent.
type Message struct {
	ID   string
	Type string
	Body []byte
}

// event is the envelope of a message (contract, "Events").
type event struct {
	ID         string `json:"id"`
	Object     string `json:"object"`
	Type       string `json:"type"`
	APIVersion string `json:"api_version"`
	CreatedAt  string `json:"created_at"`
	Data       any    `json:"data"`
}

// NewMessage puts an event into its envelope. Data must be encodable.
func NewMessage(uuid, kind string, at time.Time, data any) Message {
	id := "evt_" + strings.ReplaceAll(uuid, "-", "")
	return Message{id, kind, []byte(compact(event{id, "event", kind, APIVersion, Timestamp(at), data}))}
}

// subscriber is a subscription that wants events.
type subscriber struct {
	seq   int64
	types []string // empty: all
}

// Raise writes an event into the outbox, with a delivery for each active
// subscription that wants it: they leave the house if the change is stored. An
// event that nobody wants is not written.
func (tx *Tx) Raise(kind string, data any) error {
	wanting, err := tx.wanting(kind)
	if err != nil || len(wanting) == 0 {
		return err
	}
	m := NewMessage(tx.newID(), kind, tx.now, data)
	seq, err := tx.add("INSERT INTO events (org_id, id, type, body, created_at) VALUES (?, ?, ?, ?, ?)",
		tx.Org, m.ID, kind, string(m.Body), tx.At())
	if err != nil {
		return storeError(err)
	}
	for _, s := range wanting {
		if _, err := tx.exec(`INSERT INTO deliveries (event_seq, subscription_seq, id, due_at, created_at, updated_at)
			VALUES (?1, ?2, ?3, ?4, ?4, ?4)`, seq, s.seq, tx.newID(), tx.At()); err != nil {
			return err
		}
	}
	tx.queued = true
	return nil
}

// wanting lists the organisation's active subscriptions that want a kind of
// event.
func (tx *Tx) wanting(kind string) ([]subscriber, error) {
	all, err := tx.subscribersOf()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(s subscriber) bool {
		return len(s.types) > 0 && !slices.Contains(s.types, kind)
	}), nil
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
