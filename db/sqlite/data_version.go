package sqlite

import (
	"os"
	"sync"
	"sync/atomic"
)

// versions numbers the states of the file that this process has seen. It compares the
// header of the WAL index with the last one, which takes nanoseconds. SQLite decides by
// the same comparison whether the pages that a connection caches are valid.
//
// A new state is either the writer's own commit or another change. After the writer's
// commit, what was read before is valid if the commit did not change its subjects. After
// any other change, nothing is valid. Without a mapping, every commit is such a change.
type versions struct {
	db         *DB
	footprints footprints
	// floor is the oldest version at which a read can still be valid.
	floor atomic.Int64

	mutex     sync.RWMutex
	closed    bool
	inspector *inspector // nil until the first look
	index     *walIndex  // nil if SQLite has no mapping
	number    int64      // of the state that header describes
	header    walHeader  // zero: no state is described
	pragma    int64      // the version that SQLite reported last; used without a mapping
	// committing says that the header may change by a commit of the writer that is not
	// attributed yet.
	committing bool
	subjects   subjects
}

// DataVersion is a number that grows when this process or another one commits to the
// file. What was read while it had a value is valid as long as it has that value. It is 0
// if the state of the file is not known now. It takes some nanoseconds.
func (d *DB) DataVersion() (int64, error) {
	v := &d.versions
	v.mutex.RLock()
	if v.index != nil && !v.closed && v.index.is(&v.header) {
		number := v.number
		v.mutex.RUnlock()
		return number, nil
	}
	v.mutex.RUnlock()
	return v.look()
}

// look finds out what has changed.
func (v *versions) look() (int64, error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	switch {
	case v.closed:
		return 0, ErrClosed
	case v.committing:
		return 0, nil
	case v.inspector == nil:
		if err := v.open(); err != nil {
			return 0, err
		}
	}
	if v.index == nil {
		return v.ask()
	}
	header, ok := v.index.read()
	if !ok {
		// A process ended while it wrote the header. SQLite repairs the index at a read,
		// unless a writer keeps it from that.
		v.advance(walHeader{})
		_, err := v.inspector.number(pragmaVersion)
		if header, ok = v.index.read(); !ok {
			return 0, err
		}
	}
	v.see(header)
	return v.number, nil
}

// pragmaVersion changes when another connection has committed.
const pragmaVersion = "PRAGMA data_version"

// open connects, and finds the mapping of a file that has a log in use.
func (v *versions) open() error {
	n, err := v.db.openInspector()
	if err != nil {
		return err
	}
	if v.pragma, err = n.number(pragmaVersion); err != nil {
		n.close()
		return err
	}
	if _, err := os.Stat(v.db.Path() + "-shm"); err == nil && v.db.access == ReadWrite {
		v.index, _ = n.index() // without it, the pragma reports commits
	}
	v.inspector = n
	v.advance(walHeader{})
	return nil
}

// ask asks SQLite whether another connection has committed. It takes microseconds.
func (v *versions) ask() (int64, error) {
	version, err := v.inspector.number(pragmaVersion)
	if err != nil || version != v.pragma {
		v.pragma = version
		v.advance(walHeader{})
	}
	if err != nil {
		return 0, err
	}
	return v.number, nil
}

// see compares a header with the last one, while no commit of the writer is under way.
func (v *versions) see(header walHeader) {
	if header != v.header {
		v.advance(header)
	}
}

// advance begins a state of which nothing is known. What was read before is not valid.
func (v *versions) advance(header walHeader) {
	v.footprints.stale.Store(true)
	v.number++
	v.header = header
	v.subjects = subjects{}
	v.floor.Store(v.number)
}

// begin is called at the start of a write transaction, when no other connection can
// commit. It returns the header; ok is false if commits can't be attributed.
func (v *versions) begin() (header walHeader, ok bool) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.closed || v.index == nil {
		return header, false
	}
	if header, ok = v.index.read(); ok {
		v.see(header)
	}
	return header, ok
}

// suspend is called before a commit of the writer. Until settle, the version is not known.
func (v *versions) suspend() {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.committing = true
}

// current returns the header; ok is false if it can't be read now.
func (v *versions) current() (header walHeader, ok bool) {
	v.mutex.RLock()
	defer v.mutex.RUnlock()
	if v.closed || v.index == nil {
		return header, false
	}
	return v.index.read()
}

// settle is called after a commit of the writer, with the header that the commit left and
// what the commit changed. It is called without a header if another connection may have
// committed as well.
func (v *versions) settle(header walHeader, own bool, touched *touched) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.committing = false
	switch {
	case v.closed || v.index == nil:
	case !own || touched.all:
		v.advance(header)
	case header != v.header:
		v.number++
		v.header = header
		for one := range touched.set {
			for _, c := range one.footprint.writes {
				v.subjects.touch(c, one.owner, v.number)
			}
		}
	}
}

// analyser returns the connection that analyses statements; nil if there is none.
func (v *versions) analyser() *inspector {
	v.mutex.RLock()
	defer v.mutex.RUnlock()
	return v.inspector
}

// close ends the use of the mapping.
func (v *versions) close() {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.closed = true
	if v.inspector != nil {
		v.inspector.close()
		v.inspector, v.index = nil, nil
	}
}
