package sqlite

import "fmt"

// ownCommits tells the commits of the writer from those of other connections.
type ownCommits struct {
	tracking bool      // the transaction under way can be attributed
	header   walHeader // the state that the connection has seen last; zero: unknown
	// version is what PRAGMA data_version returns on the writer's connection. It changes
	// with commits of other connections only.
	version     int64
	touched     touched
	last        touch  // the statement that writes now
	batch       int64  // transactions up to now
	checkpoints bool   // the writer moves the log into the file, not the COMMIT
	frames      uint32 // in the log after the last commit
}

// touched is what a transaction changes.
type touched struct {
	all bool // more than what is in the set
	set map[touch]struct{}
}

// trackCommit prepares the attribution of a transaction that has begun.
func (w *writer) trackCommit() {
	c := &w.commits
	header, ok := w.db.versions.begin()
	if ok && header != c.header {
		if c.header = header; w.conn.Row(pragmaVersion).Scan(&c.version) != nil {
			c.header, ok = walHeader{}, false
		}
	}
	c.tracking = ok
	if ok != c.checkpoints { // see checkpoint
		frames := checkpointFrames
		if ok {
			frames = 0
		}
		if w.conn.runOnce(background, fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", frames)) == nil {
			c.checkpoints = ok
		}
	}
	if !ok {
		return
	}
	c.batch++
	c.touched.all = false
	if c.touched.set == nil {
		c.touched.set = map[touch]struct{}{}
	}
	clear(c.touched.set)
	w.conn.observe = w.observe
}

// observe notes what a statement changes. A statement that is rolled back counts as well.
func (w *writer) observe(s *statement, args []any) {
	c := &w.commits
	used := w.db.footprint(s)
	if used.writesMore {
		c.touched.all = true
	}
	if len(used.writes) == 0 || c.touched.all {
		return
	}
	one := touch{used, ownerOf(args)}
	c.last = one
	if s.batch == c.batch && s.touched == one {
		return
	}
	s.batch, s.touched = c.batch, one
	c.touched.set[one] = struct{}{}
}

// commit commits the transaction and attributes the commit.
func (w *writer) commit() error {
	if !w.commits.tracking {
		return w.do("COMMIT")
	}
	w.db.versions.suspend()
	err := w.do("COMMIT")
	w.attribute(err == nil)
	return err
}

// attribute finds out whether the writer alone has changed the header since the transaction
// began.
//
// The header is read before SQLite compares it with the one that the connection wrote. If
// SQLite finds no difference, the header that was read is the connection's: a header of
// another commit does not change back. The count of commits in the header does not prove
// that, because it starts again after the repair of an index.
func (w *writer) attribute(committed bool) {
	c := &w.commits
	header, own := w.db.versions.current()
	c.frames = header.field(headerMaxFrame)
	if own && header != c.header {
		before := c.version
		own = committed && w.conn.Row(pragmaVersion).Scan(&c.version) == nil && c.version == before
		c.header = header
	}
	if !own {
		c.header = walHeader{}
	}
	w.db.versions.settle(header, own, &c.touched)
}
