package db

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"govsvc/db/audit"
	"govsvc/db/sqlite"
)

// Audit is the service that reads audit logs. Tx.Audit appends to them.
type Audit struct{ db *DB }

// AuditQuery selects events, oldest first. Since is ignored with a cursor. Both bounds are
// stored timestamps, or empty.
type AuditQuery struct {
	Cursor string
	Limit  int
	Since  string // at or after it
	Until  string // strictly before it
	Size   PageSize
}

// AuditPage is one page of the log.
type AuditPage struct {
	Events  [][]byte // each an audit_event as JSON
	HasMore bool
	// Next is the cursor after the last event; empty if the log has no event yet.
	Next string

	first int64 // number of the first event
}

// auditList is the name of the log in cursors.
const auditList = "audit"

// auditPage converts the bounds of time into bounds of seq, the order of the log, in which
// time never decreases.
const auditPage = `SELECT seq, event FROM audit_events WHERE org_id = ?1
	AND seq > ?2
	AND seq >= coalesce((SELECT seq FROM audit_events WHERE org_id = ?1 AND time >= ?3 ORDER BY time, seq LIMIT 1), 9e18)
	AND seq <= coalesce((SELECT seq FROM audit_events WHERE org_id = ?1 AND time < ?4 ORDER BY time DESC, seq DESC LIMIT 1), 0)
	ORDER BY seq LIMIT ?5 + 0`

// Events reads a page of the log of an organisation (specification, GET /audit).
func (a Audit) Events(ctx context.Context, org Organisation, q AuditQuery) (AuditPage, error) {
	page := AuditPage{Next: q.Cursor}
	after := int64(0)
	if q.Cursor != "" {
		var err error
		if after, err = a.decodeCursor(org, q.Cursor); err != nil {
			return page, err
		}
		q.Since = ""
	}
	until := q.Until
	if until == "" {
		until = "~" // sorts after every timestamp
	}
	taken := 0
	err := a.db.Each(ctx, func(row Scanner) error {
		var seq int64
		var event []byte
		if len(page.Events) == q.Limit {
			page.HasMore = true
			return sqlite.ErrStop
		}
		if err := row.Scan(&seq, &event); err != nil {
			return err
		}
		taken += len(event) + len(",")
		switch {
		case q.Size.Small > 0 && taken > q.Size.Small:
			return ErrLargePage
		case len(page.Events) == 0:
			page.first = seq
		case taken > q.Size.Limit():
			page.HasMore = true
			return sqlite.ErrStop
		}
		after, page.Events = seq, append(page.Events, event)
		return nil
	}, auditPage, org.Org, after, q.Since, until, q.Limit+1)
	if err != nil {
		return AuditPage{}, err // without events, because the caller may wait for memory now
	}
	if len(page.Events) > 0 {
		page.Next = a.db.Cursors.Encode(auditList, org, fmt.Sprint(after), "")
	}
	return page, nil
}

func (a Audit) decodeCursor(org Organisation, cursor string) (int64, error) {
	order, _, err := a.db.Cursors.Decode(auditList, org, cursor)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(order, 10, 64)
}

// Broken is the first event of a log whose hash does not follow from the event before.
type Broken struct {
	Position int    `json:"position"` // 1 is the oldest event
	ID       string `json:"id"`       // "" if the event was removed, or its id
	Time     string `json:"time"`
	Gone     bool   `json:"-"` // this event and all later ones were removed
}

// AuditCheck is the result of the verification of a log.
type AuditCheck struct {
	Events int     // that are intact
	Head   string  // the hash of the last intact event
	Broken *Broken // nil if all are intact
	// Known reports that the given head is the hash of an intact event. After is how many
	// intact events follow it.
	Known bool
	After int
}

// Verify reads the log of an organisation from its start. It returns how many events are
// intact. Broken is the first event that was altered, or that follows one that was altered
// or removed; nil if all are intact. It also reports a removed end of the log.
func (a Audit) Verify(ctx context.Context, org Org) (int, *Broken, error) {
	check, err := a.Check(ctx, org, "")
	return check.Events, check.Broken, err
}

// Check verifies a log as Verify does, and returns its head. It also looks for a head that
// was noted earlier, unless head is "". A log that was truncated or rewritten no longer has
// that head.
func (a Audit) Check(ctx context.Context, org Org, head string) (AuditCheck, error) {
	var chain audit.Chain
	check, last := AuditCheck{Head: chain.Head()}, int64(0)
	check.See(head)
	err := a.db.engine.Bulk.Each(ctx, func(row Scanner) error {
		var event, hash []byte
		var b Broken
		if check.Broken != nil {
			return nil
		}
		if err := row.Scan(&last, &event, &hash, &b.ID, &b.Time); err != nil {
			return err
		}
		chain.Add(event)
		if sum := chain.Sum(); !bytes.Equal(hash, sum[:]) {
			b.Position = check.Events + 1
			check.Broken = &b
			return nil
		}
		check.Events, check.Head = chain.Events(), chain.Head()
		check.See(head)
		return nil
	}, "SELECT seq, event, hash, coalesce(event ->> 'id', ''), coalesce(time, '') FROM audit_events WHERE org_id = ? ORDER BY seq", org)
	if err == nil && check.Broken == nil {
		check.Broken, err = a.lostEnd(ctx, last, check.Events)
	}
	return check, StoreError(err)
}

// See compares the head of the log up to here with a noted one.
func (c *AuditCheck) See(head string) {
	switch {
	case c.Head == head:
		c.Known = true
	case c.Known:
		c.After++
	}
}

// HashBefore returns the hash of the event before a page. The chain of the events of the
// page continues from it.
func (a Audit) HashBefore(ctx context.Context, org Org, page AuditPage) (string, error) {
	var hash []byte
	err := a.db.Row(ctx, "SELECT hash FROM audit_events WHERE org_id = ? AND seq < ? ORDER BY seq DESC LIMIT 1", org, page.first).Scan(&hash)
	if none, err := Absent(err); none || err != nil {
		return new(audit.Chain).Head(), StoreError(err)
	}
	return hex.EncodeToString(hash), nil
}

// lostEnd looks for events that were removed from the end of a log, which no hash can
// show. The numbers of events have no gap and are never reused. The organisation of a
// missing number is unknown, so that it counts for every log that ends before it.
func (a Audit) lostEnd(ctx context.Context, last int64, intact int) (*Broken, error) {
	var lost bool
	err := a.db.engine.Bulk.Row(ctx, `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit_events'), 0) - ?1 >
		(SELECT count(*) FROM audit_events WHERE seq > ?1)`, last).Scan(&lost)
	if err != nil || !lost {
		return nil, StoreError(err)
	}
	return &Broken{Position: intact + 1, Gone: true}, nil
}

// AuditSearch selects events, newest first. Empty conditions are ignored. The bounds are
// stored timestamps.
type AuditSearch struct {
	Since        string // at or after it
	Until        string // strictly before it
	Actor        string
	Action       string
	ActionPrefix string
	ActionPart   string // in any case; full stops and underscores are equal to spaces
	ResourceType string
	ResourceID   string
	// Text is a part of the action, of the id of the record or of the name in the event,
	// as ActionPart. Events of TextActors and about TextRecords match it too.
	Text                    string
	TextActors, TextRecords []string
	Cursor                  string
	Limit                   int
	Size                    PageSize // Small is ignored
	User                    string   // whose searches run one after the other; "" has no bound
}

// AuditSearchResult is one page of a search.
type AuditSearchResult struct {
	Events [][]byte // each an audit_event as JSON
	Next   string   // cursor; "" if no older event is left to search
	// SearchedTo is the time of the oldest event that was searched, if the search reached
	// its bound and older events are left; "" otherwise.
	SearchedTo string
}

// searchedEvents bounds how many events one page searches. Actors and actions have no
// index, because each index would slow down every write.
const searchedEvents = 50_000

// searchList is the name of the log in the cursors of searches.
const searchList = "audit search"

// Search reads a page of the events that match. A page searches a bounded number of events,
// so that it may have few events or none and still have a next page.
func (a Audit) Search(ctx context.Context, org Organisation, q AuditSearch) (AuditSearchResult, error) {
	before := int64(1) << 62
	if q.Cursor != "" {
		text, _, err := a.db.Cursors.Decode(searchList, org, q.Cursor)
		if err != nil {
			return AuditSearchResult{}, err
		}
		if before, err = strconv.ParseInt(text, 10, 64); err != nil {
			return AuditSearchResult{}, err
		}
	}
	until := q.Until
	if until == "" {
		until = "~" // sorts after every timestamp
	}
	span := auditSpan{org, before, q.Since, until}
	if q.ResourceID != "" { // an index finds the events of a record
		found, err := a.searchSpan(ctx, a.db.engine.Lookups, q, span)
		return found, StoreError(err)
	}
	var found AuditSearchResult
	err := a.db.Search(ctx, q.User, func(ctx context.Context, pool *sqlite.Pool) (err error) {
		found, err = a.searchSpan(ctx, pool, q, span)
		return err
	})
	return found, err
}

// auditSpan bounds the events that a page searches.
type auditSpan struct {
	org          Organisation
	before       int64 // strictly before this event
	since, until string
}

func (a Audit) searchSpan(ctx context.Context, pool *sqlite.Pool, q AuditSearch, span auditSpan) (AuditSearchResult, error) {
	var found AuditSearchResult
	more, seq := false, int64(0)
	query, args := q.statement([]any{span.org.Org, span.before, span.since, span.until, searchedEvents, q.Limit + 1})
	taken := 0
	err := pool.EachUncached(ctx, func(row Scanner) error {
		var at int64
		var event []byte
		if err := row.Scan(&at, &event); err != nil {
			return err
		}
		taken += len(event)
		if more = len(found.Events) == q.Limit || len(found.Events) > 0 && taken > q.Size.Limit(); more {
			return sqlite.ErrStop
		}
		seq, found.Events = at, append(found.Events, event)
		return nil
	}, query, args...)
	if err != nil {
		return found, err
	}
	if !more && q.ResourceID == "" {
		seq, found.SearchedTo, err = span.searchedTo(ctx, pool)
	}
	if err == nil && (more || found.SearchedTo != "") {
		found.Next = a.db.Cursors.Encode(searchList, span.org, strconv.FormatInt(seq, 10), "")
	}
	return found, err
}

// searchedSpan selects the events of a span by seq, the order of the log, in which time
// never decreases. SQLite uses one bound for each side.
const searchedSpan = ` FROM audit_events WHERE org_id = ?1
	AND seq >= coalesce((SELECT seq FROM audit_events WHERE org_id = ?1 AND time >= ?3 ORDER BY time, seq LIMIT 1), 9e18)
	AND seq <= min(?2 - 1, coalesce((SELECT seq FROM audit_events WHERE org_id = ?1 AND time < ?4 ORDER BY time DESC, seq DESC LIMIT 1), 0))
	ORDER BY seq DESC`

// statement returns a statement that finds the events among the last ones of the span, or
// among those of a record, and its arguments.
func (q AuditSearch) statement(args []any) (string, []any) {
	query := "SELECT seq, event FROM (SELECT seq, event" + searchedSpan + " LIMIT ?5) WHERE 1"
	if q.ResourceID != "" {
		query = `SELECT seq, event FROM audit_events INDEXED BY audit_events_by_resource
			WHERE resource_id = ?7 AND org_id = ?1 AND seq < ?2 AND time >= ?3 AND time < ?4`
		args = append(args, q.ResourceID)
	}
	// The search for a text is ten times as fast as parsing JSON, which then runs for few
	// events.
	member := func(name, value, end, condition string) {
		if value == "" {
			return
		}
		text, number := compact(value), len(args)
		args = append(args, `"`+name+`":`+text[:len(text)-1]+end, value)
		query += fmt.Sprintf(" AND instr(event, ?%d) AND "+condition, number+1, number+2)
	}
	const whole = `"`
	member("actor", q.Actor, whole, "event ->> 'actor' = ?%d")
	member("action", q.Action, whole, "event ->> 'action' = ?%d")
	member("action", q.ActionPrefix, "", "substr(event ->> 'action', 1, length(?%[2]d)) = ?%[2]d")
	member("resource_type", q.ResourceType, whole, "event ->> 'resource_type' = ?%d")
	number := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("?%d", len(args))
	}
	contains := func(part string, values ...string) string {
		condition := "instr(" + plain("event") + ", " + part + ")"
		var places []string
		for _, value := range values {
			places = append(places, "instr("+plain("coalesce(event ->> '"+value+"', '')")+", "+part+")")
		}
		return condition + " AND (" + strings.Join(places, " OR ") + ")"
	}
	if part := plainText(q.ActionPart); part != "" {
		query += " AND " + contains(number(part), "action")
	}
	if text := plainText(q.Text); text != "" {
		query += " AND (" + contains(number(text), "action", "resource_id", "$.metadata.name")
		for column, values := range map[string][]string{"actor": q.TextActors, "resource_id": q.TextRecords} {
			if len(values) > 0 {
				query += " OR event ->> '" + column + "' IN (SELECT value FROM json_each(" + number(compact(values)) + "))"
			}
		}
		query += ")"
	}
	return query + " ORDER BY seq DESC LIMIT ?6", args
}

// plain returns an expression in lower case, with spaces for full stops and underscores,
// so that people find an action by its words.
func plain(expression string) string {
	return "replace(replace(lower(" + expression + "), '.', ' '), '_', ' ')"
}

// plainText returns a text in the form of plain.
func plainText(text string) string {
	return strings.NewReplacer(".", " ", "_", " ").Replace(strings.ToLower(text))
}

// searchedTo returns the last event that a page may search, if older ones follow.
func (s auditSpan) searchedTo(ctx context.Context, pool *sqlite.Pool) (seq int64, time string, err error) {
	looked := 0
	err = pool.Each(ctx, func(row Scanner) error {
		if looked++; looked == 2 { // an older event exists
			return nil
		}
		return row.Scan(&seq, &time)
	}, "SELECT seq, time"+searchedSpan+" LIMIT 2 OFFSET ?5", s.org.Org, s.before, s.since, s.until, searchedEvents-1)
	if looked < 2 {
		time = ""
	}
	return seq, time, err
}
