package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"govsvc/db/sqlite"
)

// Restored is what a restore did.
type Restored struct {
	Path string `json:"path"`
	From string `json:"from"`
	// Kept is where the file that was replaced is now; "" where there was none.
	Kept    string     `json:"kept"`
	Version int        `json:"version"`    // of the tables of the backup
	Logs    []AuditLog `json:"audit_logs"` // of the backup
}

// Restore puts a backup in the place of the data file that options name. The
// backup is read whole first, and refused unless it is sound and of no newer
// version; one of an older version is migrated. It stays as it is. A data file
// that is there is refused or, with replace, kept beside: as one file, with all
// that was committed. It must be in nobody's use. Whatever ends the restore
// early, the data file is either the former or the restored one, whole. Each
// organisation's audit log tells of it.
func Restore(ctx context.Context, from string, options Options, replace bool) (Restored, error) {
	path, err := sqlite.Resolve(options.Path)
	if err != nil {
		return Restored{}, err
	}
	if from, err = sqlite.Resolve(from); err != nil {
		return Restored{}, err
	}
	if err := mayReplace(from, path, replace); err != nil {
		return Restored{}, err
	}
	found, err := examine(ctx, from, nil)
	if err != nil {
		return Restored{}, fmt.Errorf("nothing was restored: %w", err)
	}
	done := Restored{Path: path, From: from, Version: found.version, Logs: found.logs}
	err = sqlite.WithPartial(path, func(partial string) error {
		if err := copyBackup(ctx, from, partial); err != nil {
			return err
		}
		place := restoreTarget{path: path, options: options}
		if replace {
			if err := place.name(); err != nil {
				return err
			}
		}
		options.Path = partial
		if err := complete(ctx, options, done, place.kept); err != nil {
			return err
		}
		sqlite.CopyOwner(partial, path)
		done.Kept, err = place.put(ctx, partial)
		return err
	})
	return done, err
}

func mayReplace(from, path string, replace bool) error {
	backup, err := os.Stat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file; give the backup that is to be restored", from)
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
	case sqlite.IsForeign(path, applicationID):
		return fmt.Errorf("%s is another program's; give another path with --db", path)
	case !replace:
		return fmt.Errorf("the data file %s is there already; nothing was restored: with --force the backup takes its place, and it is kept beside", path)
	}
	return nil
}

// copyBackup copies a file that was examined, with what is in the log beside
// it, if there is one.
func copyBackup(ctx context.Context, from, to string) (err error) {
	backup, err := openBackup(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backup.Close()) }()
	return backup.engine.CopyTo(ctx, to)
}

// restorer is the actor of a restore. It is the system where none is named.
func restorer(options Options) Actor {
	by := options.RestoredBy
	by.ID = cmp.Or(by.ID, "system")
	return by
}

// complete migrates a copy of a backup and has its audit logs tell what it is.
// The copy must hold what was examined.
func complete(ctx context.Context, options Options, done Restored, kept string) error {
	options.MustExist, options.copied = true, true
	file, err := Open(ctx, options)
	if err != nil {
		return err
	}
	found, err := file.examine(ctx, nil)
	if err == nil && !slices.Equal(found.logs, done.Logs) {
		err = errors.New("the copy of the backup is not what the backup is; try again")
	}
	if err == nil {
		err = file.Write(ctx, restorer(options), func(tx *Tx) error {
			return tx.auditAll(func(org Org) AuditEvent {
				at := slices.IndexFunc(done.Logs, func(l AuditLog) bool { return l.Org == org })
				metadata := Metadata{"file": filepath.Base(done.From), "events": done.Logs[at].Events, "head": done.Logs[at].Head}
				if kept != "" {
					metadata["kept"] = filepath.Base(kept)
				}
				return AuditEvent{Action: "file.restored", Category: System, Severity: SeverityRestore, Metadata: metadata}
			})
		})
	}
	return errors.Join(err, file.Close())
}
