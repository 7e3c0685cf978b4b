// Package transfer moves an organisation's records in and out of the data file
// in the data format (contract, section 5): Import reads NDJSON, JSON arrays,
// the API's envelopes and CSV, all or nothing; Export writes NDJSON,
// JSON or CSV that Import reads and finds unchanged.
package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"govsvc/db"
	"govsvc/server/openapi"
)

// Options of an import. The zero value imports what the sources' names say.
type Options struct {
	// Format of all sources; "" takes it from a source's name or, where that
	// does not tell, from its first bytes.
	Format Format
	// Type is that of the rows of sources in CSV, and makes a source CSV whose
	// name does not tell; "" takes each row's from its column "object".
	Type string
	// DryRun does all of the import and then takes it back.
	DryRun bool
	// Reason is recorded with each change; see db.ImportRules.
	Reason string
	// RequireReasons refuses changes of risks that need a reason and have none.
	RequireReasons bool
	// Preview keeps a Preview of a dry run in the report.
	Preview bool
	// Expect is the digest of a preview. An import that would do something else,
	// or lacks a reason, writes nothing. Its error is ErrMoved, and the report has a
	// new preview. "" expects nothing.
	Expect string
	// OneEvent writes one audit event for the whole import, and none for its
	// records: for data that comes with the program.
	OneEvent bool
	// Progress, if not nil, is called from time to time, by one goroutine at a
	// time.
	Progress func(Progress)
}

// importing is an import under way. Its first pass validates all sources
// without holding the file; its second writes them in one change.
type importing struct {
	store    *db.DB
	schemas  schemas
	by       db.Actor
	sources  []Source
	options  Options
	progress meter
	faults   faults
	repeats  repeats
	doomed   bool // the first pass found faults
	tally    tally
	records  int
	into     *db.Import // of the second pass
	preview  *preview   // nil where none was asked for
}

// Import writes the records of all sources, in their order, into the by's
// organisation: all of them or, where anything is wrong with any, none. Then
// the error is a *Refused and the report lists the faults. A ctx that is
// cancelled on the way leaves nothing behind.
func Import(ctx context.Context, store *db.DB, document *openapi.Document, by db.Actor, sources []Source, options Options) (Report, error) {
	if err := options.check(); err != nil {
		return Report{}, err
	}
	im := &importing{
		store: store, schemas: schemas{document: document, known: map[string]*resourceSchema{}},
		by: by, sources: sources, options: options, tally: tally{},
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

// check is the first pass.
func (im *importing) check(ctx context.Context) error {
	im.progress.start(StageCheck)
	err := im.read(ctx, func(e *entry) error {
		im.faults.add(e)
		return nil
	})
	im.records = im.progress.records
	return err
}

// errTakenBack undoes a change that went as it should.
var errTakenBack = errors.New("taken back")

// write is the second pass. It also runs where the first found faults, to find
// those that only the store knows, and is taken back then.
func (im *importing) write(ctx context.Context) error {
	im.doomed = im.faults.total > 0
	if im.faults.full() {
		return im.faults.refusal()
	}
	im.progress.start(StageWrite)
	err := im.store.Write(ctx, im.by, func(tx *db.Tx) error {
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
		if im.options.DryRun || im.faults.total > 0 {
			return errTakenBack
		}
		if im.preview != nil && (im.preview.LacksReason > 0 || im.preview.report().Digest != im.options.Expect) {
			return ErrMoved
		}
		return im.audit()
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return ctx.Err()
	case im.doomed || errors.Is(err, errTakenBack) && im.faults.total > 0:
		return im.faults.refusal()
	case errors.Is(err, errTakenBack):
		return nil
	}
	return err
}

// put writes the sources' records while the next ones are being read.
func (im *importing) put(ctx context.Context, tx *db.Tx) error {
	return ahead(ctx, im.read, func(e *entry) error {
		if e.record == nil {
			if !im.doomed { // the source is not what was checked
				im.faults.add(e)
			}
			return nil
		}
		done, err := im.into.Put(e.resource.Type, e.record)
		if err != nil {
			return im.refused(e, err)
		}
		if done.Outcome == db.Repeated {
			return im.repeated(tx, e)
		}
		im.tally.add(e.resource.Type, done.Outcome)
		if im.preview != nil {
			im.preview.add(e, done)
		}
		return nil
	})
}

// refused notes a fault that the store found; any other error ends the import.
func (im *importing) refused(e *entry, err error) error {
	var fault *db.Error
	if !errors.As(err, &fault) || fault.Code != db.Invalid && fault.Code != db.Conflict && fault.Code != db.NotFound {
		return fmt.Errorf("%s, line %d: %w", e.source.Name, e.line, err)
	}
	if !im.faults.follow(e, fault.Param) {
		e.faults = wrong(fault.Param, fault.Message)
		im.faults.add(e)
	}
	return nil
}

// audit writes the event of the import itself: how much and from where. The
// events of its records stand before it.
func (im *importing) audit() error {
	names := make([]string, len(im.sources))
	for i, source := range im.sources {
		names[i] = source.base()
	}
	return im.into.Complete(db.Metadata{"records": im.records, "types": im.tally.metadata(), "sources": names})
}

// read calls each with every record of the sources, valid during the call.
func (im *importing) read(ctx context.Context, each func(*entry) error) error {
	for i := range im.sources {
		if err := im.readSource(ctx, &im.sources[i], i, each); err != nil {
			return err
		}
	}
	im.progress.finish()
	return nil
}

func (im *importing) readSource(ctx context.Context, source *Source, at int, each func(*entry) error) (err error) {
	file, err := source.Open()
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, file.Close()) }()
	in, err := im.reader(&metered{file, &im.progress}, source.Name)
	if err != nil {
		return unreadable(source.Name, err)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, text, err := in.next()
		e := entry{source: source, order: at, line: line}
		refused, isFault := errors.AsType[refusal](err)
		flaws, isFlawed := errors.AsType[*flawed](err)
		switch {
		case isFault:
			e.faults = wrong("", string(refused))
		case isFlawed:
			im.decodeFlawed(&e, text, flaws)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unreadable(source.Name, err)
		default:
			im.schemas.decode(&e, text)
			im.progress.records++
		}
		if err := each(&e); err != nil {
			return err
		}
	}
}

// decodeFlawed decodes what a flawed row leaves of a record, to find all that is
// wrong with it at once.
func (im *importing) decodeFlawed(e *entry, text []byte, flaws *flawed) {
	if text == nil {
		e.faults = flaws.faults
		return
	}
	im.schemas.decode(e, text)
	im.progress.records++
	e.record = nil
	for _, fault := range e.faults {
		if !slices.Contains(flaws.told, fault.Param) {
			flaws.faults = append(flaws.faults, fault)
		}
	}
	e.faults = flaws.faults
}
