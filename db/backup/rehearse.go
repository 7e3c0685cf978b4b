package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"govsvc/db"
)

// Rehearsal is the result of a restore into a temporary folder.
type Rehearsal struct {
	Backup  string       `json:"backup"`
	Version int          `json:"version"` // of the tables of the backup
	Tables  []TableCount `json:"tables"`
	Logs    []LogMatch   `json:"audit_logs"`
}

// TableCount is how many rows a table has in the restored file and in the live one.
// Live is nil if there is no live file, or if that has no such table.
type TableCount struct {
	Table    string `json:"table"`
	Restored int    `json:"restored"`
	Live     *int   `json:"live"`
}

// LogMatch compares an organisation's audit log in a backup with the live one. After
// is how many events the live one has gained since; nil without a live file.
type LogMatch struct {
	AuditLog
	After *int `json:"after"`
}

// Rehearse restores a backup into a temporary folder, which it removes at the end. The
// restored file must have as many rows as the backup, and each live audit log must
// continue where the backup's ends. Rehearse only reads the live file, which may not
// exist.
func Rehearse(ctx context.Context, backup, live string) (done Rehearsal, err error) {
	folder, err := os.MkdirTemp("", "govsvc-rehearsal-") // mode 0700
	if err != nil {
		return done, fmt.Errorf("no temporary folder: %w; set TMPDIR to one with room for two copies", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	restored, err := Restore(ctx, backup, db.Options{Path: filepath.Join(folder, "govsvc.db")}, db.Actor{}, false)
	if err != nil {
		return done, err
	}
	done = Rehearsal{Backup: restored.From, Version: restored.Version}
	if done.Tables, err = restored.compare(ctx); err != nil {
		return done, err
	}
	for _, log := range restored.Logs {
		done.Logs = append(done.Logs, LogMatch{AuditLog: log})
	}
	if _, err := os.Stat(live); err != nil {
		return done, nil //nolint:nilerr // without a live file, the result has no live counts
	}
	return done, done.compare(ctx, live)
}

// compare checks that the restored file has the rows of the backup.
func (r *Restored) compare(ctx context.Context) ([]TableCount, error) {
	before, err := countFile(ctx, r.From)
	if err != nil {
		return nil, err
	}
	after, err := countFile(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	for _, had := range before {
		at := slices.IndexFunc(after, func(c TableCount) bool { return c.Table == had.Table })
		switch {
		case had.Table == "audit_events": // has the restore's own events; its hashes were checked
		case had.Table == "goose_db_version": // grows with each migration
		case at < 0 && had.Restored > 0:
			return nil, fmt.Errorf("the table %s of the backup is not in the restored file", had.Table)
		case at >= 0 && after[at].Restored != had.Restored:
			return nil, fmt.Errorf("the restored file has %d rows of %s, the backup has %d", after[at].Restored, had.Table, had.Restored)
		}
	}
	return before, nil
}

// compare adds the counts of the live file and checks its audit logs.
func (r *Rehearsal) compare(ctx context.Context, path string) (err error) {
	live, err := db.OpenToRead(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, live.Close()) }()
	counts, err := countRows(ctx, live)
	if err != nil {
		return err
	}
	for i := range r.Tables {
		for _, c := range counts {
			if c.Table == r.Tables[i].Table {
				r.Tables[i].Live = &c.Restored
			}
		}
	}
	for i := range r.Logs {
		log := &r.Logs[i]
		check, err := live.Audit.Check(ctx, log.Org, log.Head)
		if err != nil {
			return err
		}
		if !check.Known {
			return fmt.Errorf("the live audit log of %q does not continue from the backup's last event (number %d, head %s): "+
				"the backup is another file's, or one of the two was altered; see `govsvc audit verify`", log.Name, log.Events, log.Head)
		}
		log.After = &check.After
	}
	return nil
}

func countFile(ctx context.Context, path string) (counts []TableCount, err error) {
	file, err := db.OpenCopy(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return countRows(ctx, file)
}

// countRows counts the rows of each table of the program. It leaves out the search
// index, which is derived from the other tables.
func countRows(ctx context.Context, file *db.DB) ([]TableCount, error) {
	var counts []TableCount
	err := file.Each(ctx, func(row db.Scanner) error {
		var c TableCount
		err := row.Scan(&c.Table)
		counts = append(counts, c)
		return err
	}, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE '\_%' ESCAPE '\'
		AND name NOT LIKE 'search\_%' ESCAPE '\' ORDER BY name`)
	for i := range counts {
		if err == nil {
			err = file.Row(ctx, fmt.Sprintf(`SELECT count(*) FROM "%s"`, counts[i].Table)).Scan(&counts[i].Restored)
		}
	}
	return counts, db.StoreError(err)
}
