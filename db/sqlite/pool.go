package sqlite

import (
	"context"
	"errors"
	"sync"
)

// background is the context of statements that are not interrupted. An interrupt of the
// writer would end the transaction of other requests. For short reads, watching a
// context takes a good part of the time.
var background = context.Background()

// Pool is a bounded number of connections for reading, with their cached
// statements. It opens a connection when a read needs one.
type Pool struct {
	db            *DB
	mode          string // of the connections; see uri
	interruptible bool
	slots         chan struct{} // one for each connection that may exist

	mutex  sync.Mutex
	closed bool
	idle   []*conn
	active sync.WaitGroup // reads under way
}

func newPool(d *DB, mode string, size int, interruptible bool) *Pool {
	return &Pool{db: d, mode: mode, interruptible: interruptible, slots: make(chan struct{}, size)}
}

// Row reads the first row of a query. Its Scan returns ErrNoRows if there is none. If the
// pool is not interruptible, ctx bounds only the wait for a connection.
func (p *Pool) Row(ctx context.Context, query string, args ...any) Scanner {
	var row Values
	err := p.use(ctx, func(c *conn) (err error) {
		row, err = c.first(p.context(ctx), query, args)
		return err
	})
	if err != nil {
		return failedRow{err}
	}
	return row
}

// EachRaw calls fn for each row of a query like Each, and copies nothing. A text longer
// than longest bytes is an ErrTooLong; 0 is no limit. No context interrupts it.
func (p *Pool) EachRaw(ctx context.Context, longest int, fn func(RawRow) error, query string, args ...any) error {
	return p.use(ctx, func(c *conn) error { return c.eachRaw(longest, fn, query, args) })
}

// Each calls fn for each row of a query, until fn returns an error. ErrStop ends
// Each without an error. The row is valid during the call.
func (p *Pool) Each(ctx context.Context, fn func(Scanner) error, query string, args ...any) error {
	return p.use(ctx, func(c *conn) error { return c.each(ctx, p.context(ctx), true, fn, query, args) })
}

// EachUncached reads rows like Each. The query has so many forms that its statement is not
// cached.
func (p *Pool) EachUncached(ctx context.Context, fn func(Scanner) error, query string, args ...any) error {
	return p.use(ctx, func(c *conn) error { return c.each(ctx, p.context(ctx), false, fn, query, args) })
}

// Snapshot is the file at one instant: all reads through it see the same state.
// One goroutine uses it, inside Pool.Snapshot. The log beside the file cannot be
// emptied while it lasts.
type Snapshot struct{ conn *conn }

// Snapshot runs read with the state of the file at read's first query.
func (p *Pool) Snapshot(ctx context.Context, read func(*Snapshot) error) error {
	return p.use(ctx, func(c *conn) error {
		if _, err := c.Exec("BEGIN"); err != nil {
			return err
		}
		err := read(&Snapshot{c})
		if _, ended := c.Exec("ROLLBACK"); err == nil {
			err = ended
		}
		return err
	})
}

// Each calls fn for each row of a query; see Pool.Each.
func (s *Snapshot) Each(ctx context.Context, fn func(Scanner) error, query string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.conn.each(ctx, ctx, true, fn, query, args)
}

func (p *Pool) context(ctx context.Context) context.Context {
	if p.interruptible {
		return ctx
	}
	return background
}

// use waits for a connection and reads through it. A connection is closed if a
// statement failed on it, because a new one may succeed.
func (p *Pool) use(ctx context.Context, read func(*conn) error) error {
	if err := ctx.Err(); err != nil { // the select below could take a free slot
		return err
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer p.active.Done()
	returned := false
	defer func() {
		if !returned || c.failed {
			_ = c.close() // the failure is reported already
			return
		}
		p.mutex.Lock()
		p.idle = append(p.idle, c)
		p.mutex.Unlock()
	}()
	if r := recorded(ctx); r != nil {
		c.observe = func(s *statement, args []any) { r.observe(p.db, s, args) }
	}
	err = read(c)
	c.observe = nil
	returned = true
	return err
}

// take takes an idle connection or opens one. The caller calls active.Done.
func (p *Pool) take(ctx context.Context) (*conn, error) {
	p.mutex.Lock()
	if p.closed {
		p.mutex.Unlock()
		return nil, ErrClosed
	}
	p.active.Add(1)
	if last := len(p.idle) - 1; last >= 0 {
		c := p.idle[last]
		p.idle = p.idle[:last]
		p.mutex.Unlock()
		return c, nil
	}
	p.mutex.Unlock()
	c, err := p.db.connect(ctx, p.mode)
	if err != nil {
		p.active.Done()
	}
	return c, err
}

// close waits for the reads under way. Later ones fail with ErrClosed.
func (p *Pool) close() error {
	p.mutex.Lock()
	p.closed = true
	p.mutex.Unlock()
	p.active.Wait()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var err error
	for _, c := range p.idle {
		err = errors.Join(err, c.close())
	}
	p.idle = nil
	return err
}
