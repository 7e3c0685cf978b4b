package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/sqlite"
)

// Restored is the result of a restore.
type Restored struct {
	Path string `json:"path"`
	From string `json:"from"`
	// Kept is the new path of the file that was replaced; "" if there was none.
	Kept    string     `json:"kept"`
	Version int        `json:"version"`    // of the tables of the backup
	Logs    []AuditLog `json:"audit_logs"` // of the backup
}

// Restore replaces the data file that the options name by a backup. It first reads the
// whole backup, which must be intact and of no newer version. It copies the backup,
// migrates the copy, and adds an event to each audit log.
//
// A data file that exists is refused or, with replace, kept beside the new one: as one
// file, with everything that was committed. No process may have it open. However the
// restore ends, the data file is either the former file or the restored one.
func Restore(ctx context.Context, from string, options db.Options, by db.Actor, replace bool) (Restored, error) {
	path, err := sqlite.Resolve(options.Path)
	if err != nil {
		return Restored{}, err
	}
	if from, err = sqlite.Resolve(from); err != nil {
		return Restored{}, err
	}
	if err := checkRestore(from, path, replace); err != nil {
		return Restored{}, err
	}
	found, err := examineFile(ctx, from, nil)
	if err != nil {
		return Restored{}, fmt.Errorf("nothing was restored: %w", err)
	}
	done := Restored{Path: path, From: from, Version: found.version, Logs: found.logs}
	err = sqlite.WithPartial(path, func(partial string) error {
		if err := copyBackup(ctx, from, partial); err != nil {
			return err
		}
		target := restoreTarget{path: path}
		if replace {
			if err := target.chooseName(options.Now); err != nil {
				return err
			}
		}
		options.Path = partial
		if err := finishCopy(ctx, options, by, done, target.kept); err != nil {
			return err
		}
		sqlite.CopyOwner(partial, path)
		done.Kept, err = target.put(ctx, partial)
		return err
	})
	return done, err
}

// checkRestore refuses files that Restore must not read or replace.
func checkRestore(from, path string, replace bool) error {
	backup, err := os.Stat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file; give the backup to restore", from)
	case err != nil:
		return err
	}
	present, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if err := sqlite.RequireRegular(present); err != nil {
		return fmt.Errorf("%s %w; give another path with --db", path, err)
	}
	switch {
	case os.SameFile(backup, present):
		return fmt.Errorf("%s is the data file itself; give a backup of it", from)
	case db.IsForeign(path):
		return fmt.Errorf("%s is a file of another program; give another path with --db", path)
	case !replace:
		return fmt.Errorf("the data file %s already exists; nothing was restored: with --force the backup replaces it, and it is kept under another name", path)
	}
	return nil
}

// copyBackup copies a backup, with the log beside it if there is one.
func copyBackup(ctx context.Context, from, to string) (err error) {
	backup, err := db.OpenCopy(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backup.Close()) }()
	return backup.Engine().CopyTo(ctx, to)
}

// finishCopy migrates the copy of a backup and adds an event to its audit logs. It
// refuses a copy that does not hold what was examined.
func finishCopy(ctx context.Context, options db.Options, by db.Actor, done Restored, kept string) error {
	options.MustExist, options.IsCopy = true, true
	by.ID = cmp.Or(by.ID, "system")
	file, err := db.Open(ctx, options)
	if err != nil {
		return err
	}
	found, err := examine(ctx, file, nil)
	if err == nil && !slices.Equal(found.logs, done.Logs) {
		err = errors.New("the copy differs from the backup; try again")
	}
	if err == nil {
		err = file.Write(ctx, by, func(tx *db.Tx) error {
			return auditAll(tx, func(org db.Org) audit.Event {
				at := slices.IndexFunc(done.Logs, func(l AuditLog) bool { return l.Org == org })
				metadata := audit.Metadata{"file": filepath.Base(done.From), "events": done.Logs[at].Events, "head": done.Logs[at].Head}
				if kept != "" {
					metadata["kept"] = filepath.Base(kept)
				}
				return audit.Event{Action: "file.restored", Category: audit.System, Severity: audit.SeverityRestore, Metadata: metadata}
			})
		})
	}
	return errors.Join(err, file.Close())
}
