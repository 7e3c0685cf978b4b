// Package transfer imports and exports an organisation's records in the data
// format (contract, section 5). Import reads NDJSON, JSON arrays, the API's
// envelopes and CSV. It imports all records or none. Export writes NDJSON, JSON or CSV.
// To import an export again changes nothing.
package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/server/openapi"
)

// Options of an import.
type Options struct {
	// Format of all sources; "" takes it from the extension of a source's name or,
	// without a known one, from its first bytes.
	Format Format
	// Type of the rows of sources in CSV; "" takes it from the column "object". With a
	// Type, a source without a known extension is CSV.
	Type string
	// DryRun does the whole import and then rolls it back.
	DryRun bool
	// Reason is recorded with each change; see db.ImportRules.
	Reason string
	// RequireReasons refuses changes of risks that need a reason and have none.
	RequireReasons bool
	// Preview adds a Preview to the report of a dry run.
	Preview bool
	// Expect is the digest of a preview. An import that would do something else, or
	// lacks a reason, writes nothing. Its error is ErrStalePreview, and the report has
	// a new preview. "" expects nothing.
	Expect string
	// OneEvent writes one audit event for the whole import and none for its records.
	// It is for data that is a part of the program.
	OneEvent bool
	// Progress, if not nil, is called regularly, by one goroutine at a time.
	Progress func(Progress)
}

// importing is the state of an import. Its first pass validates all sources
// without a transaction. Its second pass writes them in one.
type importing struct {
	store    *db.DB
	schemas  schemas
	actor    db.Actor
	sources  []Source
	options  Options
	progress meter
	errs     errorList
	repeats  repeats
	invalid  bool // the first pass found errors
	tally    tally
	records  int
	into     *db.Import // of the second pass
	preview  *preview   // nil if none is wanted
}

// Import writes the records of all sources, in their order, into the organisation
// of by: all of them or, if any is invalid, none. Then the error is a
// *RefusedError and the report lists the errors. If ctx is cancelled, nothing is
// written.
func Import(ctx context.Context, store *db.DB, document *openapi.Document, by db.Actor, sources []Source, options Options) (Report, error) {
	if err := options.check(); err != nil {
		return Report{}, err
	}
	im := &importing{
		store: store, schemas: schemas{document: document, known: map[string]*resourceSchema{}},
		actor: by, sources: sources, options: options, tally: tally{},
		progress: meter{call: options.Progress, total: totalSize(sources)},
	}
	if options.DryRun && options.Preview || options.Expect != "" {
		im.preview = newPreview(document)
	}
	err := im.check(ctx)
	if err == nil {
		err = im.write(ctx)
	}
	return im.report(), err
}

// maxDecoders bounds the memory of the first pass on a machine with many cores.
const maxDecoders = 8

// check runs the first pass.
func (im *importing) check(ctx context.Context) error {
	im.progress.start(PhaseCheck)
	err := decodeAll(ctx, min(runtime.GOMAXPROCS(0), maxDecoders), im.read, (*entry).decode, func(entries []entry) error {
		for i := range entries {
			im.errs.add(&entries[i])
		}
		return nil
	})
	im.records = im.progress.records
	return err
}

// errRollback rolls back a successful transaction.
var errRollback = errors.New("taken back")

// write returns the second pass. It also runs after errors in the first one, to find
// those that only the store knows. Then it is rolled back.
func (im *importing) write(ctx context.Context) error {
	im.invalid = im.errs.total > 0
	if im.errs.full() {
		return im.errs.refusal()
	}
	im.progress.start(PhaseWrite)
	err := im.store.WriteAlone(ctx, im.actor, func(tx *db.Tx) error {
		im.into = tx.NewImport(db.ImportRules{
			Reason: im.options.Reason, RequireReasons: im.options.RequireReasons,
			Preview: im.preview != nil, OneEvent: im.options.OneEvent,
		})
		err := im.put(ctx, tx)
		if err == nil {
			err = im.findRepeated(ctx, tx)
		}
		if err != nil {
			return err
		}
		if im.options.DryRun || im.errs.total > 0 {
			return errRollback
		}
		if im.preview != nil && (im.preview.LacksReason > 0 || im.preview.report().Digest != im.options.Expect) {
			return ErrStalePreview
		}
		return im.audit()
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return ctx.Err()
	case im.invalid || errors.Is(err, errRollback) && im.errs.total > 0:
		return im.errs.refusal()
	case errors.Is(err, errRollback):
		return nil
	}
	return err
}

// put writes the records while goroutines read and prepare the next ones.
func (im *importing) put(ctx context.Context, tx *db.Tx) error {
	preparer, err := im.into.Preparer()
	if err != nil {
		return err
	}
	decode := func(e *entry) {
		if e.decode(); e.record != nil {
			e.prepared = preparer.Prepare(e.resource.Type, e.record)
		}
	}
	var valid []*entry
	var prepared []db.Prepared
	return decodeAll(ctx, 1, im.read, decode, func(entries []entry) error {
		valid, prepared = valid[:0], prepared[:0]
		for i := range entries {
			if e := &entries[i]; e.record != nil {
				valid, prepared = append(valid, e), append(prepared, e.prepared)
			} else if !im.invalid { // the source has changed since the first pass
				im.errs.add(e)
			}
		}
		return im.into.PutAll(prepared, func(i int, done db.PutResult, err error) error {
			return im.written(tx, valid[i], done, err)
		})
	})
}

// written counts the outcome of a record, or records its error.
func (im *importing) written(tx *db.Tx, e *entry, done db.PutResult, err error) error {
	if err != nil {
		return im.storeRefused(e, err)
	}
	if done.Outcome == db.Repeated {
		return im.repeated(tx, e)
	}
	im.tally.add(e.resource.Type, done.Outcome)
	if im.preview != nil {
		im.preview.add(e, done)
	}
	return nil
}

// storeRefused records a validation error of the store. Any other error ends the
// import.
func (im *importing) storeRefused(e *entry, err error) error {
	var refused *db.Error
	if !errors.As(err, &refused) || refused.Code != db.Invalid && refused.Code != db.Conflict && refused.Code != db.NotFound {
		return fmt.Errorf("%s, line %d: %w", e.source.Name, e.line, err)
	}
	if !im.errs.isConsequence(e, refused.Param) {
		e.errs = validationErrors(refused.Param, refused.Message)
		im.errs.add(e)
	}
	return nil
}

// audit writes the event of the import itself, with the numbers of records and the
// names of the sources. It follows the events of the records.
func (im *importing) audit() error {
	names := make([]string, len(im.sources))
	for i, source := range im.sources {
		names[i] = source.baseName()
	}
	return im.into.Complete(audit.Metadata{"records": im.records, "types": im.tally.metadata(), "sources": names})
}

// read sends the records of the sources in batches. They are not decoded.
func (im *importing) read(ctx context.Context, all *batches) error {
	b, err := all.take(ctx)
	if err != nil {
		return err
	}
	for i := range im.sources {
		err := im.readSource(ctx, &im.sources[i], i, func(e *entry) (err error) {
			if b.add(e); b.full() {
				all.send(b)
				b, err = all.take(ctx)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	im.progress.finish()
	all.send(b)
	return nil
}

func (im *importing) readSource(ctx context.Context, source *Source, at int, each func(*entry) error) (err error) {
	file, err := source.Open()
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, file.Close()) }()
	in, err := im.newReader(&meteredReader{file, &im.progress}, source.Name)
	if err != nil {
		return readError(source.Name, err)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, text, err := in.next()
		e := entry{source: source, order: at, line: line, text: text}
		invalidSource, isSourceError := errors.AsType[sourceError](err)
		invalidRow, isRowError := errors.AsType[*rowError](err)
		switch {
		case isSourceError:
			e.text, e.errs = nil, validationErrors("", string(invalidSource))
		case isRowError:
			if e.row = invalidRow; text == nil {
				e.errs = invalidRow.errs
			}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return readError(source.Name, err)
		}
		if e.text != nil {
			im.schemas.identify(&e)
			im.progress.records++
		}
		if err := each(&e); err != nil {
			return err
		}
	}
}

// decode sets the record of an entry that was read, or its errors.
func (e *entry) decode() {
	if e.resource != nil {
		value, errs := e.resource.schema.Decode(e.text)
		if e.errs = errs; errs == nil {
			e.record = value.(map[string]any) // every schema of records is of an object
		}
	}
	if e.row == nil || len(e.text) == 0 {
		return
	}
	// The valid part of an invalid row is decoded, so that all errors of the row are
	// reported at once.
	e.record = nil
	for _, invalid := range e.errs {
		if !slices.Contains(e.row.reported, invalid.Param) {
			e.row.errs = append(e.row.errs, invalid)
		}
	}
	e.errs = e.row.errs
}
