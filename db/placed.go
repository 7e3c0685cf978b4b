package db

// rowSet holds rows of a table, a bit each: those of an import stand close
// together, whether they are new or known, so millions take little memory.
type rowSet map[int64]*[rowsTogether / 64]uint64

const rowsTogether = 1024

// add tells whether the row was not in the set before.
func (s rowSet) add(seq int64) bool {
	page := s[seq/rowsTogether]
	if page == nil {
		page = new([rowsTogether / 64]uint64)
		s[seq/rowsTogether] = page
	}
	word, bit := &page[seq%rowsTogether/64], uint64(1)<<(seq%64)
	fresh := *word&bit == 0
	*word |= bit
	return fresh
}

// isFirstPut notes that a record is put into a row, and tells whether it is the
// first of the change.
func isFirstPut(tx *Tx, r *storedResource, seq int64) bool {
	rows := tx.placed[r]
	if rows == nil {
		if tx.placed == nil {
			tx.placed = map[*storedResource]rowSet{}
		}
		rows = rowSet{}
		tx.placed[r] = rows
	}
	return rows.add(seq)
}

// Find tells the row that Put writes a record to, by its natural key; 0 where
// there is none, be it because Put would refuse the record. Rows of different
// types may have the same number.
func (tx *Tx) Find(object string, record Record) (row int64, err error) {
	r, err := findResource(object)
	if err != nil {
		return 0, err
	}
	if r.normalize != nil {
		err = r.normalize(tx, record)
	}
	var known storedRow
	if err == nil {
		known, err = findRow(tx, r, record)
	}
	if Is(err, NotFound) || Is(err, Invalid) {
		return 0, nil
	}
	return known.seq, err
}
