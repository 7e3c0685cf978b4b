package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"govsvc/db/sqlite"
)

// BackupPlan has backups made regularly, in a folder, under names that tell the
// data file and the time. The folder itself is the plan's memory.
type BackupPlan struct {
	Folder string
	Every  time.Duration
	Keep   int // how many of its own to keep, the newest; at least 1
}

// Prepare makes the folder, if only its last part is missing, and refuses one
// that can't be used.
func (p BackupPlan) Prepare() error {
	err := os.Mkdir(p.Folder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if info, fault := os.Stat(p.Folder); err == nil && fault == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", p.Folder)
	}
	if err != nil {
		return err
	}
	file, err := sqlite.CreatePartial(filepath.Join(p.Folder, "writable"))
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// BackUpWhenDue makes a backup if the newest in the folder is as old as the plan
// allows, and removes what is more than it keeps. It returns the backup, nil if
// none was due, and when the next one is.
func (d *DB) BackUpWhenDue(ctx context.Context, plan BackupPlan) (made *Backup, next time.Time, err error) {
	now := d.Now()
	own, err := plannedOf(plan.Folder, stem(d.Path()), now)
	if err != nil {
		return nil, now, d.failedBackup(ctx, plan.Folder, err)
	}
	if len(own) > 0 && !own[0].at.After(now) {
		if next = own[0].at.Add(plan.Every); next.After(now) {
			return nil, next, nil
		}
	}
	sqlite.RemoveStalePartials(plan.Folder, "."+stem(d.Path())+"-")
	path := filepath.Join(plan.Folder, fmt.Sprintf("%s-%s.db", stem(d.Path()), now.Format(fileTime)))
	backup, err := d.Backup(ctx, path, false)
	if err != nil {
		return nil, now, d.failedBackup(ctx, path, err)
	}
	next = now.Add(plan.Every)
	err = d.NoteBackup(ctx, Actor{ID: "system"}, backup)
	for _, old := range own[min(len(own), max(0, plan.Keep-1)):] {
		err = errors.Join(err, os.Remove(old.path))
	}
	return &backup, next, err
}

// failedBackup remembers a failure, unless it is but a signal.
func (d *DB) failedBackup(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, d.noteFailedBackup(ctx, path, err))
}

// planned is a backup of a plan.
type planned struct {
	path string
	at   time.Time
}

// plannedOf lists the backups of a data file's plan, newest first. Those that
// are of a time to come were made under a clock that was ahead, and may be older
// than any: they come last, so that they neither hold up the next backup nor
// outlive it. Other files are nobody's business here.
func plannedOf(folder, stem string, now time.Time) ([]planned, error) {
	entries, err := os.ReadDir(folder)
	var own []planned
	for _, entry := range entries {
		text, starts := strings.CutPrefix(entry.Name(), stem+"-")
		text, ends := strings.CutSuffix(text, ".db")
		if at, err := time.Parse(fileTime, text); starts && ends && err == nil && entry.Type().IsRegular() {
			own = append(own, planned{filepath.Join(folder, entry.Name()), at})
		}
	}
	slices.SortFunc(own, func(a, b planned) int {
		if a.at.After(now) != b.at.After(now) {
			return a.at.Compare(b.at)
		}
		return b.at.Compare(a.at)
	})
	return own, err
}

// stem is the name of a data file in the names of its backups.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// NewestBackup is the newest backup in a folder that a plan for this data file
// made until now.
func NewestBackup(folder, path string, now time.Time) (string, error) {
	path, err := sqlite.Resolve(path)
	if err != nil {
		return "", err
	}
	own, err := plannedOf(folder, stem(path), now)
	if err == nil && len(own) == 0 {
		err = fmt.Errorf("%s holds no backup of %s: none is named like %s-20260912T083000Z.db", folder, filepath.Base(path), stem(path))
	}
	if err != nil {
		return "", err
	}
	return own[0].path, nil
}
