package db

import (
	"strings"

	"govsvc/db/audit"
)

// Audit appends an event to the log of the organisation, in the same transaction. The time
// of an event is never before that of the previous event, even if the clock is set back.
// Collectors rely on that order.
func (tx *Tx) Audit(e audit.Event) error {
	head, err := readAuditHead(tx)
	if err != nil {
		return err
	}
	event := tx.entryOf(e, head.next(tx))
	tx.eventText = event.AppendJSON(tx.eventText[:0])
	return chainEvent(tx, head, string(tx.eventText))
}

// next returns the time of the next event of the log.
func (head *auditHead) next(tx *Tx) string { return max(head.time, tx.At()) }

// entryOf returns an event as it is stored. It does not use the file.
func (tx *Tx) entryOf(e audit.Event, at string) audit.Entry {
	if changes, ok := e.Metadata["changes"].(audit.Changes); ok {
		e.Metadata["changes"] = changes.Digested()
	}
	return audit.Entry{
		Object: "audit_event", ID: tx.NewID(), Time: at, Actor: tx.ID,
		Action: e.Action, Category: e.Category, ResourceType: orNull(e.ResourceType), ResourceID: orNull(e.ResourceID),
		Severity: e.Severity, Metadata: tx.origin(e.Metadata),
	}
}

// chainEvent stores an event whose text is in tx.eventText, with its hash.
func chainEvent(tx *Tx, head *auditHead, text string) error {
	chain := head.chain
	chain.Add(tx.eventText)
	if err := appendEvent(tx, text, chain.Sum()); err != nil {
		return err
	}
	head.chain, head.time = chain, head.next(tx)
	tx.audited = true
	return nil
}

// origin adds the origin of a change to the metadata of its event.
func (by *Actor) origin(m audit.Metadata) audit.Metadata {
	add := func(name, value string) {
		if value == "" {
			return
		}
		if m == nil {
			m = audit.Metadata{}
		}
		m[name] = value
	}
	add("request_id", by.RequestID)
	add("address", audit.Truncate(by.Address, audit.MaxAddressBytes))
	add("os_user", by.OSUser)
	add("os_login", by.OSLogin)
	add("reason", by.Reason)
	return m
}

// eventsAtOnce is how many events of an import one statement writes. Every statement reads
// and writes the sequence number of the table.
const eventsAtOnce = 128

var (
	insertEvent  = "INSERT INTO audit_events (org_id, event, hash) VALUES (?, ?, ?)"
	insertEvents = insertEvent + strings.Repeat(", (?, ?, ?)", eventsAtOnce-1)
)

// appendEvent stores an event. An import collects events and stores them together; see
// storeEvents.
func appendEvent(tx *Tx, event string, hash audit.Sum) error {
	if tx.importing == nil {
		_, err := tx.Exec(insertEvent, tx.Org, event, hash[:])
		return err
	}
	im := tx.importing
	if im.events = append(im.events, tx.Org, event, hash[:]); len(im.events) < 3*eventsAtOnce {
		return nil
	}
	_, err := tx.Exec(insertEvents, im.events...)
	clear(im.events)
	im.events = im.events[:0]
	return err
}

// storeEvents stores the remaining events of an import, at the end of the change.
func storeEvents(tx *Tx) error {
	if tx.importing == nil {
		return nil
	}
	for waiting := tx.importing.events; len(waiting) > 0; waiting = waiting[3:] {
		if _, err := tx.Exec(insertEvent, waiting[:3]...); err != nil {
			return err
		}
	}
	tx.importing.events = nil
	return nil
}

// auditHead is the last event of the log of an organisation.
type auditHead struct {
	chain audit.Chain
	time  string
}

// readAuditHead reads the head of the log once for all changes of a transaction. Audit
// then keeps it up to date.
func readAuditHead(tx *Tx) (*auditHead, error) {
	if head := tx.batch.logs[tx.Org]; head != nil {
		return head, nil
	}
	head := &auditHead{}
	var hash []byte
	err := tx.Row("SELECT hash, time FROM audit_events WHERE org_id = ? ORDER BY seq DESC LIMIT 1", tx.Org).Scan(&hash, &head.time)
	if none, err := Absent(err); err != nil {
		return nil, StoreError(err)
	} else if !none {
		head.chain = audit.ChainAfter(audit.Sum(hash))
	}
	tx.batch.logs[tx.Org] = head // an operator's change may be about several organisations
	return head, nil
}

// AuditChange appends the event of a record that was created or changed. Its action is
// api.write.risk through the API, for example, and risk.updated otherwise.
func (tx *Tx) AuditChange(object, verb, id string, changes audit.Changes) error {
	return auditWrite(tx, object, verb, id, audit.Metadata{"changes": changes})
}

func auditWrite(tx *Tx, object, verb, id string, metadata audit.Metadata) error {
	return tx.Audit(writeEvent(tx, object, verb, id, metadata))
}

// writeEvent returns the event of a record that was created or changed.
func writeEvent(tx *Tx, object, verb, id string, metadata audit.Metadata) audit.Event {
	action, metadata := writeAction(tx, object, verb, metadata)
	return audit.Event{
		Action: action, Category: audit.DataChange, Severity: audit.SeverityWrite,
		ResourceType: object, ResourceID: id, Metadata: metadata,
	}
}

// operations are the operations of writes through the API, by verb. The action of these
// events has no verb.
var operations = map[string]string{"created": "create", "updated": "update", "deleted": "delete"}

// writeAction returns the action of a write: object.verb, or api.write.object
// through the API. The metadata of an API write names the operation.
func writeAction(tx *Tx, object, verb string, metadata audit.Metadata) (string, audit.Metadata) {
	if !tx.API {
		return object + "." + verb, metadata
	}
	if metadata == nil {
		metadata = audit.Metadata{}
	}
	metadata["operation"] = operations[verb]
	return "api.write." + object, metadata
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
