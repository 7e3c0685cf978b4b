package transfer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/server/openapi"
)

// Export writes an organisation's records of the types, all if none is named,
// as NDJSON in the order that Import needs, and returns how many of each it
// wrote. What it writes belongs together, whatever is written to the file
// meanwhile. The audit log is told when all has been written; an export that
// can't be audited fails.
func Export(ctx context.Context, store *db.DB, by db.By, org db.Org, types []string, w io.Writer) (map[string]int, error) {
	types, err := exported(types)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	return export(ctx, store, by, org, types, out, func(record []byte) error {
		_, err := out.Write(record)
		if err == nil {
			err = out.WriteByte('\n')
		}
		return err
	})
}

// ExportCSV writes an organisation's records of one type as Export does, but as
// CSV: a header row, commas and LF, each text as it is.
func ExportCSV(ctx context.Context, store *db.DB, document *openapi.Document, by db.By, org db.Org, object string, w io.Writer) (map[string]int, error) {
	types, err := exported([]string{object})
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	table := newRows(document, object)
	if _, err := out.WriteString(strings.Join(table.names, ",") + "\n"); err != nil {
		return nil, err
	}
	return export(ctx, store, by, org, types, out, func(record []byte) error {
		line, err := table.row(record)
		if err == nil {
			_, err = out.Write(line)
		}
		return err
	})
}

func export(ctx context.Context, store *db.DB, by db.By, org db.Org, types []string, out *bufio.Writer, each func([]byte) error) (map[string]int, error) {
	written := map[string]int{}
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
		return out.Flush()
	})
	if err != nil {
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
	all := db.RecordTypes()
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
	return fmt.Errorf("no type %q; the types are %s", object, strings.Join(db.RecordTypes(), ", "))
}
