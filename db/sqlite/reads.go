package sqlite

import (
	"context"
	"slices"
	"sync"
)

// Reads records what the reads of a context depend on: the columns of the tables that
// their statements read, and their owners. Many goroutines may use it.
type Reads struct {
	versions *versions
	version  int64 // before the first read; 0 if it was not known

	mutex    sync.Mutex
	begun    bool // a statement was recorded
	seen     []touch
	subjects []*subject
	all      bool // it depends on every commit, as without any statement
}

type readsKey struct{}

// Record returns a context whose reads of this file are recorded. The version must have
// been asked for before.
func (d *DB) Record(ctx context.Context, version int64) (context.Context, *Reads) {
	r := &Reads{versions: &d.versions, version: version, all: true}
	return context.WithValue(ctx, readsKey{}, r), r
}

// Valid reports whether all that was read is still what a read at that version returns.
// Version 0 is not known.
func (r *Reads) Valid(version int64) bool {
	switch {
	case version == 0 || r.version == 0:
		return false
	case version == r.version:
		return true
	case r.all || r.version < r.versions.floor.Load():
		return false
	}
	for _, of := range r.subjects {
		if of.Load() > r.version {
			return false
		}
	}
	return true
}

// Tables returns the tables that were read, and of which owner's rows; owner 0 is any
// owner. all says that more was read, so that the reads depend on every commit.
func (r *Reads) Tables() (tables map[string]Owner, all bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	tables = map[string]Owner{}
	for _, one := range r.seen {
		for _, c := range one.footprint.reads {
			owner := one.owner
			if before, known := tables[c.table]; !c.owned || known && before != owner {
				owner = 0
			}
			tables[c.table] = owner
		}
	}
	return tables, r.all
}

// recorded returns the recorder of a context; nil if it has none.
func recorded(ctx context.Context) *Reads {
	r, _ := ctx.Value(readsKey{}).(*Reads)
	return r
}

// observe records a statement on the file d.
func (r *Reads) observe(d *DB, s *statement, args []any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !r.begun {
		r.begun, r.all = true, false
	}
	if d.Frozen() {
		return // it never changes
	}
	used := unknownFootprint
	if r.versions == &d.versions {
		used = d.footprint(s)
	}
	one := touch{used, ownerOf(args)}
	if r.all = r.all || used.readsMore; r.all || slices.Contains(r.seen, one) {
		return
	}
	r.seen = append(r.seen, one)
	r.subjects = r.versions.find(r.subjects, one)
}

// find appends the subjects of a read.
func (v *versions) find(found []*subject, one touch) []*subject {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.subjects.count >= maxSubjects {
		v.advance(v.header)
	}
	for _, c := range one.footprint.reads {
		found = append(found, v.subjects.find(c, one.owner, v.number))
	}
	return found
}

// footprint returns the footprint of a prepared statement.
func (d *DB) footprint(s *statement) *footprint {
	f := &d.versions.footprints
	generation := f.generation.Load()
	if s.footprint != nil && s.generation == generation && !f.stale.Load() {
		return s.footprint
	}
	n := d.versions.analyser()
	if n == nil {
		return unknownFootprint
	}
	found := f.of(n, s.text)
	if found != unknownFootprint && f.generation.Load() == generation {
		s.footprint, s.generation = found, generation
	}
	return found
}
