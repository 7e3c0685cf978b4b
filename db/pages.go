package db

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
)

// pages reads the lists of the API through connections of its own, with the
// driver's own statements, and lets SQLite join a page's rows: half of the time
// of a page goes elsewhere when database/sql reads it row by row.
type pages struct {
	db *DB

	mutex  sync.Mutex
	closed bool
	idle   []*connection // that one page is read through at a time
	turns  chan struct{} // a place for each connection there may be
}

// What is beside the rows of a page is told apart by what stands neither in JSON
// text, where control characters are escaped, nor in instants and ids.
const (
	rowEnd   = '\x1e'
	fieldEnd = '\x1f'
)

// joinedRows makes one row of all that a query for position, id and resource
// gives: the resources, and where each stands and how many bytes it takes.
// SQLite joins rows in the order in which they come.
func joinedRows(query string) string {
	return "SELECT group_concat(resource, ','), group_concat(position || '\x1f' || id || '\x1f' || octet_length(resource), '\x1e') FROM (" + query + ")"
}

func (p *pages) init(d *DB) {
	p.db = d
	p.turns = make(chan struct{}, readers)
}

// read runs a query made by joinedRows and returns its two texts, "" where
// there are no rows.
func (p *pages) read(ctx context.Context, query string, args []any) (resources, positions string, err error) {
	if err := ctx.Err(); err != nil { // a free turn might be taken all the same
		return "", "", err
	}
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-ctx.Done():
		return "", "", ctx.Err()
	}
	conn, err := p.take(ctx)
	if err != nil {
		return "", "", err
	}
	// a page is read in less time than it takes to end one, so that no context
	// is asked on the way; an aggregate gives a row, also of nothing
	var rows [2]any
	err = conn.row(query, args...).Scan(&rows[0], &rows[1])
	p.give(conn, err)
	resources, _ = rows[0].(string)
	positions, _ = rows[1].(string)
	return resources, positions, err
}

var errClosed = errors.New("sql: database is closed") // as database/sql says it

func (p *pages) take(ctx context.Context) (*connection, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if last := len(p.idle) - 1; last >= 0 {
		conn := p.idle[last]
		p.idle = p.idle[:last]
		return conn, nil
	}
	return p.db.connect(ctx, "ro")
}

// give puts a connection back, unless it failed: a new one may do better.
func (p *pages) give(conn *connection, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if err != nil || p.closed {
		_ = conn.close()
		return
	}
	p.idle = append(p.idle, conn)
}

func (p *pages) close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.closed = true
	var err error
	for _, conn := range p.idle {
		err = errors.Join(err, conn.close())
	}
	p.idle = nil
	return err
}

// cut takes from what was read the row beyond the limit, if there is one, and
// tells the position of the last row that stays.
func cut(resources, positions string, limit int) (rows string, more bool, order, id string) {
	if strings.Count(positions, string(rowEnd)) < limit {
		return resources, false, "", ""
	}
	positions, beyond := cutLast(positions, rowEnd)
	_, size := cutLast(beyond, fieldEnd)
	bytes, _ := strconv.Atoi(size) // SQLite's own number
	_, last := cutLast(positions, rowEnd)
	last, _ = cutLast(last, fieldEnd)
	order, id, _ = strings.Cut(last, string(fieldEnd))
	return resources[:len(resources)-bytes-len(",")], true, order, id
}

// cutLast cuts a text around the last end; what stands before none is "".
func cutLast(text string, end byte) (before, after string) {
	at := strings.LastIndexByte(text, end)
	return text[:max(0, at)], text[at+1:]
}
