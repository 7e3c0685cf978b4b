package transfer

import (
	"context"
	"errors"
	"fmt"

	"govsvc/db"
)

// repeats are the faults of records that came before in the same import, by the
// row that both are meant for: as places in the list of faults.
type repeats map[place][]int

type place struct {
	object string
	row    int64
}

// repeated notes a record that came before. Where that was is not kept for each
// record, but found out where it is needed.
func (im *importing) repeated(tx *db.Tx, e *entry) error {
	row, err := tx.Find(e.resource.Type, e.record)
	if err != nil {
		return err
	}
	e.faults = wrong("", "repeats an earlier record")
	at := len(im.faults.listed)
	if im.faults.add(e); at == len(im.faults.listed) {
		return nil // more than are listed
	}
	if im.repeats == nil {
		im.repeats = repeats{}
	}
	of := place{e.resource.Type, row}
	im.repeats[of] = append(im.repeats[of], at)
	return nil
}

var errAllFound = errors.New("all found")

// findRepeated reads the sources once more, up to the last of the records that
// others repeat, to say in the faults where they are.
func (im *importing) findRepeated(ctx context.Context, tx *db.Tx) error {
	if len(im.repeats) == 0 {
		return nil
	}
	types := map[string]bool{}
	for of := range im.repeats {
		types[of.object] = true
	}
	im.progress.start(StageCheck)
	err := im.read(ctx, func(e *entry) error {
		if e.record == nil || !types[e.resource.Type] {
			return nil
		}
		row, err := tx.Find(e.resource.Type, e.record)
		if err != nil {
			return err
		}
		of := place{e.resource.Type, row}
		for _, at := range im.repeats[of] {
			fault := &im.faults.listed[at]
			fault.Reason = repeatsLine(e, fault.order)
		}
		if delete(im.repeats, of); len(im.repeats) == 0 {
			return errAllFound
		}
		return nil
	})
	if errors.Is(err, errAllFound) {
		return nil
	}
	return err
}

// repeatsLine says which record a fault of the source of an order repeats.
func repeatsLine(e *entry, order int) string {
	line := fmt.Sprintf("line %d", e.line)
	if e.order != order {
		line += " of " + e.source.Name
	}
	return "repeats " + line + ": both have the same natural key, so keep one of them"
}
