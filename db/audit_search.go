package db

import (
	"context"
	"fmt"
	"strconv"

	"govsvc/db/sqlite"
)

// AuditSearch asks for events newest first. What is empty does not count; the
// bounds are stored timestamps.
type AuditSearch struct {
	Since        string // at or after it
	Until        string // strictly before it
	Actor        string
	Action       string
	ActionPrefix string
	ResourceType string
	ResourceID   string
	Cursor       string
	Limit        int
	Size         PageSize // Small does not count
	User         string   // who asks: one user's searches run one at a time; "" is not bounded
}

// AuditSearchResult is one page of a search.
type AuditSearchResult struct {
	Events [][]byte // each an audit_event as JSON
	Next   string   // cursor; "" where the log has nothing older that could be found
	// SearchedTo is the time of the oldest event that the page looked at, where
	// it looked at as many as it may and there are more; "" otherwise.
	SearchedTo string
}

// searchedEvents bounds how many events one page looks at. There is no index
// of who did what: each would cost every write.
const searchedEvents = 50_000

// searchList names the log in the cursors of searches.
const searchList = "audit search"

// Search reads a page of what a search finds in an organisation's log. A
// page looks at a bounded number of events, so that it may find few of them or
// none and still have a next one.
func (a Audit) Search(ctx context.Context, org Organisation, q AuditSearch) (AuditSearchResult, error) {
	before := int64(1) << 62
	if q.Cursor != "" {
		sealed, _, err := a.db.Cursors.Decode(searchList, org, q.Cursor)
		if err != nil {
			return AuditSearchResult{}, err
		}
		if before, err = strconv.ParseInt(sealed, 10, 64); err != nil {
			return AuditSearchResult{}, err
		}
	}
	until := q.Until
	if until == "" {
		until = "~" // behind every timestamp
	}
	span := auditSpan{org, before, q.Since, until}
	if q.ResourceID != "" { // an index leads to its events
		found, err := a.searchSpan(ctx, a.db.engine.Lookups, q, span)
		return found, storeError(err)
	}
	var found AuditSearchResult
	err := a.db.Search(ctx, q.User, func(ctx context.Context, pool *sqlite.Pool) (err error) {
		found, err = a.searchSpan(ctx, pool, q, span)
		return err
	})
	return found, err
}

// auditSpan bounds the events that a page looks at.
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
		if more = len(found.Events) == q.Limit || len(found.Events) > 0 && taken > q.Size.most(); more {
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

// searchedSpan are the events that a page may look at: seq is the order, and
// time never runs backwards in the log. SQLite makes use of one bound a side.
const searchedSpan = ` FROM audit_events WHERE org_id = ?1
	AND seq >= coalesce((SELECT seq FROM audit_events WHERE org_id = ?1 AND time >= ?3 ORDER BY time, seq LIMIT 1), 9e18)
	AND seq <= min(?2 - 1, coalesce((SELECT seq FROM audit_events WHERE org_id = ?1 AND time < ?4 ORDER BY time DESC, seq DESC LIMIT 1), 0))
	ORDER BY seq DESC`

// statement finds the events in the last ones of the span or, where the record
// is known, among its own; and what its conditions compare with.
func (q AuditSearch) statement(args []any) (string, []any) {
	query := "SELECT seq, event FROM (SELECT seq, event" + searchedSpan + " LIMIT ?5) WHERE 1"
	if q.ResourceID != "" {
		query = `SELECT seq, event FROM audit_events INDEXED BY audit_events_by_resource
			WHERE resource_id = ?7 AND org_id = ?1 AND seq < ?2 AND time >= ?3 AND time < ?4`
		args = append(args, q.ResourceID)
	}
	// Looking for a text is ten times as fast as reading JSON, which then
	// happens where it is worth it.
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
	return query + " ORDER BY seq DESC LIMIT ?6", args
}

// searchedTo is the last event that a page may look at, if older ones follow.
func (s auditSpan) searchedTo(ctx context.Context, pool *sqlite.Pool) (seq int64, time string, err error) {
	looked := 0
	err = pool.Each(ctx, func(row Scanner) error {
		if looked++; looked == 2 { // there is an older one
			return nil
		}
		return row.Scan(&seq, &time)
	}, "SELECT seq, time"+searchedSpan+" LIMIT 2 OFFSET ?5", s.org.Org, s.before, s.since, s.until, searchedEvents-1)
	if looked < 2 {
		time = ""
	}
	return seq, time, err
}
