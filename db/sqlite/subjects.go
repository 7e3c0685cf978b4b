package sqlite

import (
	"sync/atomic"
)

// subject is a column of a table with the rows of one owner, or of any owner. Its value is
// the version of the last commit that changed it.
type subject = atomic.Int64

// subjects are the subjects on which some read depends. versions.mutex guards them.
type subjects struct {
	tables map[string]map[Owner]map[string]*subject
	count  int
}

// maxSubjects bounds the subjects.
const maxSubjects = 50_000

// find returns the subject of a read. Owner 0 is any owner. A new subject has the value
// now, because it is not known what changed it before.
func (s *subjects) find(c column, owner Owner, now int64) *subject {
	if !c.owned {
		owner = 0
	}
	if s.tables == nil {
		s.tables = map[string]map[Owner]map[string]*subject{}
	}
	owners := s.tables[c.table]
	if owners == nil {
		owners = map[Owner]map[string]*subject{}
		s.tables[c.table] = owners
	}
	columns := owners[owner]
	if columns == nil {
		columns = map[string]*subject{}
		owners[owner] = columns
	}
	found := columns[c.name]
	if found == nil {
		found = new(subject)
		found.Store(now)
		columns[c.name] = found
		s.count++
	}
	return found
}

// touch sets the version of all subjects that a write has changed. Owner 0 is every
// owner.
func (s *subjects) touch(c column, owner Owner, version int64) {
	owners := s.tables[c.table]
	if c.owned && owner != 0 {
		touchColumns(owners[owner], c.name, version)
		touchColumns(owners[0], c.name, version)
		return
	}
	for _, columns := range owners {
		touchColumns(columns, c.name, version)
	}
}

// touchColumns touches a column. The column "" is the whole row, so all columns.
func touchColumns(columns map[string]*subject, name string, version int64) {
	if name != "" {
		if found := columns[name]; found != nil {
			found.Store(version)
		}
		return
	}
	for _, found := range columns {
		found.Store(version)
	}
}

// touch is a use of a statement by an owner's rows; owner 0 is every owner.
type touch struct {
	footprint *footprint
	owner     Owner
}

// ownerOf returns the owner that the arguments of a statement name. It is 0 without one,
// and for several owners.
func ownerOf(args []any) Owner {
	var found Owner
	for _, arg := range args {
		if owner, ok := arg.(Owner); ok {
			if found != 0 && owner != found {
				return 0
			}
			found = owner
		}
	}
	return found
}
