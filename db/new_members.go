package db

import (
	"slices"
	"strings"

	"govsvc/db/audit"
)

// newMember is a member of the new records that have the same columns.
type newMember struct {
	name  string
	begin string // of its change in an audit event, up to the value
	at    int    // its place in the values of the set, or one of the following
	value any    // of a default
}

// The places of members that are no columns of the set.
const (
	atDefault = -1
	atFurther = -2
)

// created keeps what the event of a new record says of its members. The changes
// are nil, and only the JSON is made, where nothing else needs them: most imports
// are of new records.
func (im *Import) created(r *storedResource, record Record, set *columnSet, values []any) audit.Changes {
	if set.members == nil {
		set.members = newMembers(im.tx, r, set)
	}
	if r.put != nil || im.rules.Preview {
		return set.given(record, values)
	}
	if im.rules.OneEvent {
		return nil
	}
	im.newChanges = set.appendGiven(im.newChanges[:0], record, values)
	return nil
}

// newMembers lists the members of a new record by name, those that the table
// sets by default among them.
func newMembers(tx *Tx, r *storedResource, set *columnSet) []newMember {
	var all []newMember
	add := func(name string, at int, value any) {
		begin := string(audit.AppendText(nil, name)) + `:{"from":null,"to":`
		all = append(all, newMember{name, begin, at, value})
	}
	for i, column := range set.names {
		if !slices.Contains(r.Internal, column) {
			add(column, i, nil)
		}
	}
	for column, value := range tx.db.defaults[r.Table] {
		if !slices.Contains(set.names, column) {
			add(column, atDefault, value)
		}
	}
	for _, member := range r.Derived {
		add(member, atFurther, nil)
	}
	slices.SortFunc(all, func(a, b newMember) int { return strings.Compare(a.name, b.name) })
	return all
}

// valueIn returns a member's value in a new record, and whether it is listed
// among the changes: null is not, as in the API's events.
func (s *columnSet) valueIn(m *newMember, record Record, values []any) (value any, listed bool) {
	switch m.at {
	case atDefault:
		return m.value, true
	case atFurther:
		return record[m.name], true
	}
	return s.resource.memberValue(m.name, values[m.at]), values[m.at] != nil
}

// given returns the members of a new record as changes. values are those of the
// set's columns.
func (s *columnSet) given(record Record, values []any) audit.Changes {
	changes := make(audit.Changes, len(s.members))
	for i := range s.members {
		if value, listed := s.valueIn(&s.members[i], record, values); listed {
			changes[s.members[i].name] = audit.Change{To: value}
		}
	}
	return changes
}

// appendGiven appends the JSON that the audit log stores of the same changes.
func (s *columnSet) appendGiven(to []byte, record Record, values []any) []byte {
	separator := byte('{')
	for i := range s.members {
		value, listed := s.valueIn(&s.members[i], record, values)
		if !listed {
			continue
		}
		if long := audit.DigestOf(value); long != nil {
			value = long
		}
		to = append(append(to, separator), s.members[i].begin...)
		to = append(audit.AppendValue(to, value), '}')
		separator = ','
	}
	if separator == '{' {
		to = append(to, '{')
	}
	return append(to, '}')
}
