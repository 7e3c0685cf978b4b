package delivery

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"govsvc/db"
)

// Logged is the delivery of an event to a subscription, as operators see it.
type Logged struct {
	ID             string `json:"id"`
	Number         int64  `json:"number"` // of the event within the file; see Get
	SubscriptionID string `json:"subscription_id"`
	URL            string `json:"url"`
	EventID        string `json:"event_id"`
	EventType      string `json:"event_type"`
	EventAt        string `json:"event_created_at"`

	State     State   `json:"state"`
	Attempts  int     `json:"attempts"` // that were made, also before a replay
	DueAt     *string `json:"due_at"`   // of a pending delivery: the time of its next attempt
	UpdatedAt string  `json:"updated_at"`
	// Of the last attempt; nil before the first.
	LastAttemptAt *string `json:"last_attempt_at"`
	LastStatus    *int    `json:"last_status"`
	LastError     *string `json:"last_error"`
	// Reason is why it became a dead letter before its last attempt; nil otherwise.
	Reason *string `json:"reason"`
}

// LoggedAttempt is one attempt of a delivery.
type LoggedAttempt struct {
	Number     int     `json:"number"` // from 1
	At         string  `json:"at"`
	DurationMS int     `json:"duration_ms"`
	Status     *int    `json:"status"` // of the response; nil without a response
	Error      *string `json:"error"`  // why there is no response
	Answer     *string `json:"answer"` // the first 1 KB of the response
}

// Detail is a delivery with all of its attempts, oldest first, and the exact body that is
// signed and sent.
type Detail struct {
	Logged
	Body json.RawMessage `json:"body"`
	Log  []LoggedAttempt `json:"log"`
}

// Query selects deliveries, newest event first.
type Query struct {
	Subscription string // its id; "" selects the dead letters of all subscriptions
	State        State  // "" selects all
	Cursor       string
	Limit        int
}

// Page is one page of deliveries.
type Page struct {
	Deliveries []Logged
	Next       string // cursors; "" if there is no such page
	Previous   string
}

const deliveriesList = "deliveries"

const loggedDelivery = `d.id, d.event_seq, s.id, s.url, e.id, e.type, e.created_at, d.state, coalesce(a.number, 0), d.due_at, d.updated_at,
	a.at, a.status, a.error, d.reason`

const loggedJoins = ` JOIN webhook_subscriptions s ON s.seq = d.subscription_seq JOIN events e ON e.seq = d.event_seq` + lastAttempt

// lastAttempt joins the last attempt a of each delivery d, if one was made.
const lastAttempt = ` LEFT JOIN delivery_attempts a ON a.event_seq = d.event_seq AND a.subscription_seq = d.subscription_seq
	AND a.number = (SELECT max(number) FROM delivery_attempts m WHERE m.event_seq = d.event_seq AND m.subscription_seq = d.subscription_seq)`

func scanLogged(row db.Scanner, more ...any) (Logged, error) {
	var l Logged
	err := row.Scan(append([]any{
		&l.ID, &l.Number, &l.SubscriptionID, &l.URL, &l.EventID, &l.EventType, &l.EventAt, &l.State, &l.Attempts, &l.DueAt, &l.UpdatedAt,
		&l.LastAttemptAt, &l.LastStatus, &l.LastError, &l.Reason,
	}, more...)...)
	return l, err
}

// List reads a page of the deliveries of a subscription, or of the dead letters of all
// subscriptions of the organisation.
func List(ctx context.Context, store *db.DB, org db.Organisation, q Query) (Page, error) {
	var page Page
	if q.Subscription == "" {
		q.State = Dead
	}
	if states := []State{"", Pending, Delivered, Dead}; !slices.Contains(states, q.State) {
		return page, db.NotOneOf("state", states[1:])
	}
	list := deliveriesList + " " + q.Subscription + " " + string(q.State)
	newer := list + " newer" // the list in the other direction
	at, back := place{event: 1 << 62}, false
	if q.Cursor != "" {
		event, subscription, err := store.Cursors.Decode(list, org, q.Cursor)
		if err != nil {
			back = true
			if event, subscription, err = store.Cursors.Decode(newer, org, q.Cursor); err != nil {
				return page, err
			}
		}
		if at.event, err = strconv.ParseInt(event, 10, 64); err != nil {
			return page, err
		}
		if at.subscription, err = strconv.ParseInt(subscription, 10, 64); err != nil {
			return page, err
		}
	}
	var places []place
	more := false
	query, args := q.statement(org.Org, at, back)
	err := store.Each(ctx, func(row db.Scanner) error {
		if more = len(page.Deliveries) == q.Limit; more {
			return nil
		}
		var p place
		l, err := scanLogged(row, &p.subscription)
		p.event = l.Number
		page.Deliveries, places = append(page.Deliveries, l), append(places, p)
		return err
	}, query, args...)
	if back {
		slices.Reverse(page.Deliveries)
		slices.Reverse(places)
	}
	if len(places) == 0 {
		return page, err
	}
	cursor := func(list string, p place) string {
		return store.Cursors.Encode(list, org, strconv.FormatInt(p.event, 10), strconv.FormatInt(p.subscription, 10))
	}
	if more || back { // the page before a backward one has older deliveries
		page.Next = cursor(list, places[len(places)-1])
	}
	if q.Cursor != "" && (more || !back) {
		page.Previous = cursor(newer, places[0])
	}
	return page, err
}

// place is that of a delivery in a list.
type place struct{ event, subscription int64 }

// statement finds the deliveries of a page in an index that has their order: those before
// a place, or with back those after it.
func (q Query) statement(org db.Org, at place, back bool) (string, []any) {
	beyond, order := "<", "DESC"
	if back {
		beyond, order = ">", "ASC"
	}
	where, args := "subscription_seq = (SELECT seq FROM webhook_subscriptions WHERE org_id = ? AND id = ?) AND event_seq "+beyond+" ?", []any{org, q.Subscription, at.event}
	if q.Subscription == "" {
		where = "subscription_seq IN (SELECT seq FROM webhook_subscriptions WHERE org_id = ?) AND (event_seq, subscription_seq) " + beyond + " (?, ?)"
		args = []any{org, at.event, at.subscription}
	}
	if q.State != "" {
		where += " AND state = '" + string(q.State) + "'" // a literal, so that SQLite uses a partial index
	}
	return "SELECT " + loggedDelivery + `, d.subscription_seq FROM (SELECT event_seq, subscription_seq FROM deliveries
			WHERE ` + where + " ORDER BY event_seq " + order + ", subscription_seq " + order + ` LIMIT ?) p
		JOIN deliveries d ON d.event_seq = p.event_seq AND d.subscription_seq = p.subscription_seq` + loggedJoins +
		" ORDER BY p.event_seq " + order + ", p.subscription_seq " + order, append(args, q.Limit+1)
}

// Get reads a delivery of a subscription, with all attempts, by the number of its event.
func Get(ctx context.Context, store *db.DB, org db.Org, subscription string, number int64) (Detail, error) {
	var detail Detail
	var body string
	var err error
	detail.Logged, err = scanLogged(store.Row(ctx, "SELECT "+loggedDelivery+`, e.body FROM deliveries d`+loggedJoins+`
		WHERE s.org_id = ? AND s.id = ? AND d.event_seq = ?`, org, subscription, number), &body)
	if none, err := db.Absent(err); none {
		return detail, &db.Error{Code: db.NotFound, Message: "no such delivery of this subscription; those that arrived are kept for 30 days"}
	} else if err != nil {
		return detail, db.StoreError(err)
	}
	detail.Body = json.RawMessage(body)
	err = store.Each(ctx, func(row db.Scanner) error {
		var a LoggedAttempt
		err := row.Scan(&a.Number, &a.At, &a.DurationMS, &a.Status, &a.Error, &a.Answer)
		detail.Log = append(detail.Log, a)
		return err
	}, `SELECT a.number, a.at, a.duration_ms, a.status, a.error, a.answer FROM webhook_subscriptions s
		JOIN delivery_attempts a ON a.event_seq = ?3 AND a.subscription_seq = s.seq
		WHERE s.org_id = ?1 AND s.id = ?2 ORDER BY a.number`, org, subscription, number)
	return detail, err
}

// LogRetention is how long the log of a delivered event is kept (contract, "Events").
const LogRetention = 30 * 24 * time.Hour

// sweptEvents bounds how many events one transaction of a sweep reads. Each event has as
// many deliveries as there are subscriptions.
const sweptEvents = 100

// Sweep removes deliveries that arrived longer ago than keep, with their log, and events
// without deliveries. It keeps dead letters.
func Sweep(ctx context.Context, store *db.DB, keep time.Duration) error {
	after := int64(0)
	for {
		last := int64(0)
		err := store.Maintain(ctx, func(tx *db.Tx) error {
			old := db.Timestamp(tx.Now().Add(-keep))
			// The next few old events. Younger events come after them and are not read.
			err := tx.Row(`SELECT coalesce(max(seq), 0) FROM (SELECT seq, created_at FROM events WHERE seq > ? ORDER BY seq LIMIT ? + 0) WHERE created_at < ?`,
				after, sweptEvents, old).Scan(&last)
			if err != nil || last == 0 {
				return db.StoreError(err)
			}
			if _, err := tx.Exec(`DELETE FROM deliveries WHERE event_seq > ? AND event_seq <= ? AND state = 'delivered' AND updated_at < ?`,
				after, last, old); err != nil {
				return err
			}
			_, err = tx.Exec(`DELETE FROM events WHERE seq > ? AND seq <= ? AND created_at < ?
				AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_seq = events.seq)
				AND NOT EXISTS (SELECT 1 FROM fan_outs f WHERE f.event_seq = events.seq)`, after, last, old)
			return err
		})
		if err != nil || last == 0 {
			return err
		}
		after = last
	}
}
