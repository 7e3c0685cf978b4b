package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"govsvc/db/sqlite"
)

// restoreTarget is where a data file is put, and what stands there now.
type restoreTarget struct {
	path    string
	kept    string // what the present file is to be called; "" if there is none
	options Options
}

// errInUse refuses to take a file away from under a process.
var errInUse = errors.New("is in use by another process; stop `govsvc serve` and what else works on it, and try again")

// name chooses a name for the present file.
func (p *restoreTarget) name() error {
	if _, err := os.Lstat(p.path); err != nil {
		return nil //nolint:nilerr // there is none
	}
	if err := p.tidy(); err != nil {
		return err
	}
	now := time.Now
	if p.options.Now != nil {
		now = p.options.Now
	}
	p.kept = sqlite.UnusedPath(p.path + beforeRestore + now().UTC().Format(fileTime))
	return nil
}

// beforeRestore is in the name of a file that was replaced.
const beforeRestore = ".before-restore-"

// passing is the second name of the present file until it has lost the first:
// nobody opens a file by two names, which SQLite can't bear.
func (p *restoreTarget) passing() string {
	folder, base := filepath.Split(p.kept)
	return folder + "." + base
}

// tidy ends what a restore that was killed has left: the former file's second
// name goes while that file still has the first, and is shown if not.
func (p *restoreTarget) tidy() error {
	folder, base := filepath.Split(p.path)
	left, err := filepath.Glob(globbed(folder) + "." + globbed(base) + beforeRestore + "*")
	if err != nil {
		return err
	}
	present, err := os.Stat(p.path)
	for _, second := range left {
		if info, fault := os.Stat(second); err == nil && fault == nil && os.SameFile(info, present) {
			err = os.Remove(second)
		} else if err == nil {
			err = os.Rename(second, folder+filepath.Base(second)[1:])
		}
	}
	return err
}

// globbed is a pattern that matches the text alone.
func globbed(text string) string {
	if runtime.GOOS == "windows" {
		return text // knows no such marks in patterns, and few in names
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}

// fileTime is the form of an instant in the name of a file.
const fileTime = "20060102T150405Z"

// put gives a finished file the place. The first name passes from one whole
// file to another in one step.
func (p *restoreTarget) put(ctx context.Context, finished string) (kept string, err error) {
	if err := sqlite.SyncFile(finished); err != nil {
		return "", err
	}
	release, err := p.take(ctx)
	if err != nil {
		return "", fmt.Errorf("%s %w", p.path, err)
	}
	defer release()
	if _, err := os.Lstat(p.path); err == nil && p.kept == "" {
		return "", sqlite.Exists(p.path) // made meanwhile: what stands beside it is its own
	}
	if err := p.keep(); err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" {
		release() // an open file can't be replaced there, which protects it as well
	}
	if p.kept == "" {
		return "", sqlite.Publish(finished, p.path, false)
	}
	err = os.Rename(finished, p.path)
	if err == nil {
		err = os.Rename(p.passing(), p.kept)
	}
	return p.kept, errors.Join(err, sqlite.SyncFolder(filepath.Dir(p.path)))
}

// take makes sure that nobody has the present file open, nor can have it until
// it is released, and moves what is in the log beside it into the file. A file
// too damaged for that stays as it is.
func (p *restoreTarget) take(ctx context.Context) (release func(), err error) {
	if p.kept == "" {
		return func() {}, nil
	}
	release, err = sqlite.Lock(ctx, p.path)
	if errors.Is(err, sqlite.ErrInUse) {
		err = errInUse
	}
	return release, err
}

// keep gives the present file its second name, and what is left beside it.
func (p *restoreTarget) keep() error {
	if p.kept != "" {
		// a file system without links has no data file for a moment
		if err := os.Link(p.path, p.passing()); err != nil {
			if err := os.Rename(p.path, p.passing()); err != nil {
				return err
			}
		}
	}
	_ = os.Remove(p.path + "-shm") // an index that SQLite makes anew
	for _, end := range []string{"-wal", "-journal"} {
		if _, err := os.Lstat(p.path + end); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		// of a damaged file, or of one that is gone: never of the restored one
		if err := os.Rename(p.path+end, p.leftover()+end); err != nil {
			return err
		}
	}
	return sqlite.SyncFolder(filepath.Dir(p.path))
}

// leftover is the name of the file that something was left beside of.
func (p *restoreTarget) leftover() string {
	if p.kept != "" {
		return p.kept
	}
	return p.path + ".before-restore"
}
