package transfer

import (
	"context"
	"errors"
	"fmt"

	"govsvc/db"
)

// repeats are the errors of records that are twice in an import, as indexes in the
// list of errors, by the row of both.
type repeats map[recordKey][]int

type recordKey struct {
	object string
	row    int64
}

// repeated records an error for a record that is twice in the import. The line of
// the first one is not stored for every record; findRepeated finds it.
func (im *importing) repeated(tx *db.Tx, e *entry) error {
	row, err := tx.Find(e.resource.Type, e.record)
	if err != nil {
		return err
	}
	e.errs = validationErrors("", "repeats an earlier record")
	at := len(im.errs.listed)
	if im.errs.add(e); at == len(im.errs.listed) {
		return nil // the list of errors is full
	}
	if im.repeats == nil {
		im.repeats = repeats{}
	}
	of := recordKey{e.resource.Type, row}
	im.repeats[of] = append(im.repeats[of], at)
	return nil
}

var errAllFound = errors.New("all found")

// findRepeated reads the sources again and adds the lines of the repeated records
// to the errors. It stops when all are found.
func (im *importing) findRepeated(ctx context.Context, tx *db.Tx) error {
	if len(im.repeats) == 0 {
		return nil
	}
	types := map[string]bool{}
	for of := range im.repeats {
		types[of.object] = true
	}
	im.progress.start(PhaseCheck)
	err := decodeAll(ctx, 1, im.read, (*entry).decode, func(entries []entry) error {
		for i := range entries {
			if err := im.findFirst(tx, &entries[i], types); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errAllFound) {
		return nil
	}
	return err
}

// findFirst adds the line of an entry to the errors of those that repeat it. It returns
// errAllFound after the last of them.
func (im *importing) findFirst(tx *db.Tx, e *entry, types map[string]bool) error {
	if e.record == nil || !types[e.resource.Type] {
		return nil
	}
	row, err := tx.Find(e.resource.Type, e.record)
	if err != nil {
		return err
	}
	of := recordKey{e.resource.Type, row}
	for _, at := range im.repeats[of] {
		repetition := &im.errs.listed[at]
		repetition.Reason = repeatsLine(e, repetition.order)
	}
	if delete(im.repeats, of); len(im.repeats) == 0 {
		return errAllFound
	}
	return nil
}

// repeatsLine returns the reason for an error: which record is repeated. order is
// the source of the repetition.
func repeatsLine(e *entry, order int) string {
	line := fmt.Sprintf("line %d", e.line)
	if e.order != order {
		line += " of " + e.source.Name
	}
	return "repeats " + line + ": both have the same natural key, so keep one of them"
}
