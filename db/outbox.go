package db

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// EventPing is the type of the event that only the test operation sends.
const EventPing = "ping"

func init() { declareEvents(EventPing) }

// eventTypes are the declared types of events, by name.
var eventTypes []string

// declareEvents declares types of events (contract, "Events"). The file that enqueues
// them calls it when the package is initialized. The document describes each type.
func declareEvents(types ...string) {
	eventTypes = append(eventTypes, types...)
	slices.Sort(eventTypes)
}

// EventTypes returns the types of events by name. The document has the order of the
// specification.
func EventTypes() []string { return slices.Clone(eventTypes) }

// APIVersion is the version of the API in responses and events.
const APIVersion = "2026-09-12"

// Message is an event for receivers: the id by which they recognise repetitions, and the
// exact bytes that are signed and sent.
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

// NewMessage encodes an event with its envelope. It panics if data can't be encoded.
func NewMessage(uuid, kind string, at time.Time, data any) Message {
	id := "evt_" + strings.ReplaceAll(uuid, "-", "")
	return Message{id, kind, []byte(compact(event{id, "event", kind, APIVersion, Timestamp(at), data}))}
}

// Enqueue writes an event to the outbox, with the receiver set that determines the
// subscriptions that receive it. Both commit with the change. The delivery loop makes the
// deliveries afterwards. Enqueue writes nothing if no subscription matches. It refuses a
// type that no file has declared.
func (tx *Tx) Enqueue(kind string, data any) error {
	if !slices.Contains(eventTypes, kind) {
		return fmt.Errorf("the type of event %q is not declared; see declareEvents", kind)
	}
	set, err := receiverSet(tx, kind)
	if err != nil || set == 0 {
		return err
	}
	m := NewMessage(tx.NewID(), kind, tx.now, data)
	seq, err := tx.Insert("INSERT INTO events (org_id, id, type, body, created_at) VALUES (?, ?, ?, ?, ?)",
		tx.Org, m.ID, kind, string(m.Body), tx.At())
	if err != nil {
		return StoreError(err)
	}
	if _, err := tx.Exec("INSERT INTO fan_outs (org_id, event_seq, set_seq) VALUES (?, ?, ?)", tx.Org, seq, set); err != nil {
		return err
	}
	tx.WakeDeliveries()
	return nil
}

type receiverSetKey struct {
	org  Org
	kind string // of the event
}

// receiverSet returns the organisation's current receiver set of a type of
// event, and makes it if the subscriptions changed since the last event of the
// type. It returns 0 if no active subscription matches.
func receiverSet(tx *Tx, kind string) (int64, error) {
	key := receiverSetKey{tx.Org, kind}
	if set, known := tx.batch.receiverSets[key]; known {
		return set, nil
	}
	var set int64
	err := tx.Row("SELECT seq FROM receiver_sets WHERE org_id = ? AND type = ? AND current = 1", tx.Org, kind).Scan(&set)
	if none, failure := Absent(err); none {
		set, err = newReceiverSet(tx, kind)
	} else {
		err = StoreError(failure)
	}
	if err != nil {
		return 0, err
	}
	tx.batch.receiverSets[key] = set
	return set, nil
}

const matchingSubscriptions = ` FROM webhook_subscriptions WHERE org_id = ? AND active = 1
	AND (event_types = '[]' OR EXISTS (SELECT 1 FROM json_each(event_types) WHERE value = ?))`

func newReceiverSet(tx *Tx, kind string) (int64, error) {
	var matches bool
	if err := tx.Row("SELECT EXISTS (SELECT 1"+matchingSubscriptions+")", tx.Org, kind).Scan(&matches); err != nil || !matches {
		return 0, StoreError(err)
	}
	set, err := tx.Insert("INSERT INTO receiver_sets (org_id, type) VALUES (?, ?)", tx.Org, kind)
	if err != nil {
		return 0, StoreError(err)
	}
	_, err = tx.Exec("INSERT INTO receiver_set_members (set_seq, subscription_seq) SELECT ?, seq"+matchingSubscriptions, set, tx.Org, kind)
	return set, err
}
