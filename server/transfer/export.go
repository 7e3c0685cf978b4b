package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// Export writes an organisation's records of the types, all if none is named,
// in the order that Import needs, and returns how many of each it wrote. NDJSON
// and JSON, one array, hold any number of types; CSV holds one: a header row,
// commas and LF, each text as it is. What is written belongs together, whatever
// is written to the file meanwhile. The audit log is told when all has been
// written; an export that can't be audited fails.
func Export(ctx context.Context, store *db.DB, document *openapi.Document, by db.Actor, org db.Org, types []string, format Format, w io.Writer) (map[string]int, error) {
	all, err := exported(types)
	if err != nil {
		return nil, err
	}
	f := frame{end: "\n", line: func(record []byte) ([]byte, error) { return record, nil }}
	switch format {
	case NDJSON:
	case JSON:
		f.open, f.between, f.end, f.close = "[", ",\n", "", "]\n"
	case CSV:
		if len(all) != 1 {
			return nil, errors.New("a CSV file holds one type")
		}
		table := newRows(document, all[0])
		f.open, f.end, f.line = strings.Join(table.names, ",")+"\n", "", table.row
	default:
		return nil, noFormat(format)
	}
	return export(ctx, store, by, org, all, f, bufio.NewWriterSize(w, 64<<10))
}

// frame is what a format puts around records.
type frame struct {
	open, between, end, close string
	line                      func(record []byte) ([]byte, error)
}

func export(ctx context.Context, store *db.DB, by db.Actor, org db.Org, types []string, f frame, out *bufio.Writer) (map[string]int, error) {
	written, between := map[string]int{}, ""
	_, _ = out.WriteString(f.open) // an error comes again, as do those below
	each := func(record []byte) error {
		line, err := f.line(record)
		if err != nil {
			return err
		}
		_, _ = out.WriteString(between)
		_, _ = out.Write(line)
		_, err = out.WriteString(f.end)
		between = f.between
		return err
	}
	err := store.Snapshot(ctx, func(s *db.Snapshot) error {
		for _, object := range types {
			written[object] = 0
			err := s.Records(ctx, org, object, func(record []byte) error {
				written[object]++
				return each(record)
			})
			if err != nil {
				return fmt.Errorf("the export of type %s failed: %w", object, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, _ = out.WriteString(f.close)
	if err := out.Flush(); err != nil {
		return nil, err
	}
	by.Org = org
	return written, store.Write(ctx, by, func(tx *db.Tx) error {
		return tx.Audit(db.AuditEvent{
			Action: "export.completed", Category: db.Export, Severity: db.SeverityRead,
			Metadata: db.Metadata{"types": written},
		})
	})
}

// exported puts the types in the order of import, each once.
func exported(types []string) ([]string, error) {
	all := resource.Types()
	for _, object := range types {
		if !slices.Contains(all, object) {
			return nil, noType(object)
		}
	}
	if len(types) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(object string) bool { return !slices.Contains(types, object) }), nil
}

func noType(object string) error {
	return fmt.Errorf("no type %q; the types are %s", object, strings.Join(resource.Types(), ", "))
}
