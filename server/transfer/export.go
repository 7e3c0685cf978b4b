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
	"govsvc/db/audit"
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// Export writes the records of an organisation and returns how many of each type.
// No types are all types. They are in the order that Import needs. NDJSON and
// JSON, one array, have any number of types. CSV has one type: a header row,
// commas and LF. The records are of one snapshot. At the end the export is
// audited; if that fails, the export fails.
func Export(ctx context.Context, store *db.DB, document *openapi.Document, by db.Actor, org db.Org, types []string, format Format, w io.Writer) (map[string]int, error) {
	all, err := exportOrder(types)
	if err != nil {
		return nil, err
	}
	f := encoding{end: "\n", line: func(record []byte) ([]byte, error) { return record, nil }}
	switch format {
	case NDJSON:
	case JSON:
		f.open, f.between, f.end, f.close = "[", ",\n", "", "]\n"
	case CSV:
		if len(all) != 1 {
			return nil, errors.New("a CSV file has one type")
		}
		table := newCSVWriter(document, all[0], nil)
		f.open, f.end, f.line = strings.Join(table.names, ",")+"\n", "", table.encode
	default:
		return nil, noFormat(format)
	}
	return export(ctx, store, by, org, all, f, bufio.NewWriterSize(w, 64<<10))
}

// encoding is how a format encodes a list of records.
type encoding struct {
	open, between, end, close string
	line                      func(record []byte) ([]byte, error)
}

func export(ctx context.Context, store *db.DB, by db.Actor, org db.Org, types []string, f encoding, out *bufio.Writer) (map[string]int, error) {
	written, between := map[string]int{}, ""
	_, _ = out.WriteString(f.open) // Flush returns the error, also of those below
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
		return tx.Audit(audit.Event{
			Action: "export.completed", Category: audit.Export, Severity: audit.SeverityRead,
			Metadata: audit.Metadata{"types": written},
		})
	})
}

// exportOrder returns the types in the order of an import, each once.
func exportOrder(types []string) ([]string, error) {
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
