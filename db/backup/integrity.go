package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/db/sqlite"
)

// examined is what was found in an intact file.
type examined struct {
	bytes   int64
	version int
	logs    []AuditLog
}

// examineFile examines a file that no process writes.
func examineFile(ctx context.Context, path string, heads map[db.Org]string) (found examined, err error) {
	file, err := db.OpenCopy(ctx, path)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return examine(ctx, file, heads)
}

// examine reads a whole file. It refuses a file of a newer version and a damaged file.
// Each audit log must be intact and must contain the event with the given head.
func examine(ctx context.Context, file *db.DB, heads map[db.Org]string) (found examined, err error) {
	info, err := os.Stat(file.File.Path())
	if err != nil {
		return found, err
	}
	found.bytes = info.Size()
	faults, err := New(file).Faults(ctx, true)
	if err == nil && len(faults) > 0 {
		err = fmt.Errorf("it is damaged: %s", strings.Join(faults, "; "))
	}
	if err != nil {
		return found, err
	}
	if found.version, err = file.File.KnownVersion(ctx); err != nil {
		return found, err
	}
	orgs, err := file.Orgs.ListWithRemoved(ctx)
	if err != nil {
		return found, err
	}
	for _, org := range orgs {
		check, err := file.Audit.Check(ctx, org.Org, heads[org.Org])
		switch {
		case err != nil:
			return found, err
		case check.Broken != nil:
			return found, fmt.Errorf("the audit log of %q is broken at event %d", org.Name, check.Broken.Position)
		case heads[org.Org] != "" && !check.Known:
			return found, fmt.Errorf("the audit log of %q lacks events that it had", org.Name)
		}
		found.logs = append(found.logs, AuditLog{org.Org, org.Name, check.Events, check.Head})
	}
	for org := range heads {
		if !slices.ContainsFunc(found.logs, func(l AuditLog) bool { return l.Org == org }) {
			return found, errors.New("an organisation is missing")
		}
	}
	return found, nil
}

// maxFaults bounds the faults that are reported of one file.
const maxFaults = 20

// Faults returns what SQLite finds wrong with the structure and the references of
// the file, nothing if it is intact. The time grows with the file. With full, it also
// compares each index with its table.
func (s *Service) Faults(ctx context.Context, full bool) ([]string, error) {
	pragma := "quick_check"
	if full {
		pragma = "integrity_check"
	}
	var faults []string
	add := func(row db.Scanner) error {
		var fault string
		err := row.Scan(&fault)
		if fault != "ok" && err == nil {
			faults = append(faults, fault)
		}
		return err
	}
	bulk := s.store.Engine().Bulk
	err := bulk.Each(ctx, add, fmt.Sprintf("PRAGMA %s(%d)", pragma, maxFaults))
	if err == nil && len(faults) == 0 {
		err = bulk.Each(ctx, add, `SELECT format('%d rows of %s refer to rows that do not exist', count(*), "table") FROM pragma_foreign_key_check GROUP BY "table"`)
	}
	if sqlite.IsCorrupt(err) { // so much damage that SQLite cannot list it
		return append(faults, err.Error()), nil
	}
	return faults, db.StoreError(err)
}
