package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"govsvc/db"
	"govsvc/db/sqlite"
)

// Schedule makes backups at an interval, in a folder. The name of each has the name of
// the data file and the time, so that the folder shows which backup is due.
type Schedule struct {
	Folder string
	Every  time.Duration
	Keep   int // how many of the schedule's backups to keep, at least 1
}

// Prepare creates the folder if only the last part of its path does not exist. It
// refuses a folder in which no file can be created.
func (s Schedule) Prepare() error {
	err := os.Mkdir(s.Folder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if info, unknown := os.Stat(s.Folder); err == nil && unknown == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", s.Folder)
	}
	if err != nil {
		return err
	}
	file, err := sqlite.CreatePartial(filepath.Join(s.Folder, "writable"))
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// Pauses of Run.
const (
	longestPause = time.Minute // because clocks are set, and machines sleep
	retryPause   = 5 * time.Minute
)

// Run makes backups that are due until ctx ends. It logs each of them and each failure.
func (s *Service) Run(ctx context.Context, schedule Schedule, logger *slog.Logger) {
	for ctx.Err() == nil {
		made, next, err := s.MakeDue(ctx, schedule)
		pause := min(next.Sub(s.store.Now()), longestPause)
		switch {
		case made != nil && err != nil:
			logger.Warn("backup made, but a step after it failed", "file", made.Path, "error", err)
		case made != nil:
			logger.Info("backup made", "file", made.Path, "bytes", made.Bytes)
		case err != nil && ctx.Err() == nil:
			logger.Error("backup failed; trying again", "folder", schedule.Folder, "after", retryPause, "error", err)
			pause = retryPause
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// MakeDue makes a backup if the newest one in the folder is as old as the interval. It
// then removes the oldest backups beyond those to keep. It returns the backup, nil if
// none was due, and when the next one is due.
func (s *Service) MakeDue(ctx context.Context, schedule Schedule) (made *Backup, next time.Time, err error) {
	now, stem := s.store.Now(), fileStem(s.store.File.Path())
	present, err := scheduled(schedule.Folder, stem, now)
	if err != nil {
		return nil, now, s.fail(ctx, schedule.Folder, err)
	}
	if len(present) > 0 && !present[0].at.After(now) {
		if next = present[0].at.Add(schedule.Every); next.After(now) {
			return nil, next, nil
		}
	}
	sqlite.RemoveStalePartials(schedule.Folder, "."+stem+"-")
	path := filepath.Join(schedule.Folder, fmt.Sprintf("%s-%s.db", stem, now.Format(db.FileTime)))
	backup, err := s.Make(ctx, path, false)
	if err != nil {
		return nil, now, s.fail(ctx, path, err)
	}
	next = now.Add(schedule.Every)
	err = s.Record(ctx, db.Actor{ID: "system"}, backup)
	for _, old := range present[min(len(present), max(0, schedule.Keep-1)):] {
		err = errors.Join(err, os.Remove(old.path))
	}
	return &backup, next, err
}

// fail records a failure, unless the context has ended.
func (s *Service) fail(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, s.recordFailure(ctx, path, err))
}

// scheduledFile is a backup that a schedule made.
type scheduledFile struct {
	path string
	at   time.Time
}

// scheduled lists the backups of a data file in a folder, the newest first. Backups
// with a time in the future were made while the clock was ahead, and may be older than
// the others. They come last, so that they do not delay the next backup and are
// removed first. It leaves out all other files.
func scheduled(folder, stem string, now time.Time) ([]scheduledFile, error) {
	entries, err := os.ReadDir(folder)
	var files []scheduledFile
	for _, entry := range entries {
		text, starts := strings.CutPrefix(entry.Name(), stem+"-")
		text, ends := strings.CutSuffix(text, ".db")
		if at, err := time.Parse(db.FileTime, text); starts && ends && err == nil && entry.Type().IsRegular() {
			files = append(files, scheduledFile{filepath.Join(folder, entry.Name()), at})
		}
	}
	slices.SortFunc(files, func(a, b scheduledFile) int {
		if a.at.After(now) != b.at.After(now) {
			return a.at.Compare(b.at)
		}
		return b.at.Compare(a.at)
	})
	return files, err
}

// fileStem returns the name of a data file in the names of its backups.
func fileStem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// Newest returns the path of the newest backup in a folder that a schedule made of this
// data file until now.
func Newest(folder, path string, now time.Time) (string, error) {
	path, err := sqlite.Resolve(path)
	if err != nil {
		return "", err
	}
	stem := fileStem(path)
	files, err := scheduled(folder, stem, now)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no backup of %s: none is named like %s-20260912T083000Z.db", folder, filepath.Base(path), stem)
	}
	if err != nil {
		return "", err
	}
	return files[0].path, nil
}
