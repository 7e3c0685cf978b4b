package backup

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

	"govsvc/db"
	"govsvc/db/sqlite"
)

// restoreTarget is the path of a data file and the file that it names now.
type restoreTarget struct {
	path string
	kept string // the path under which the present file is kept; "" if there is none
}

// beforeRestore is part of the name of a file that was replaced.
const beforeRestore = ".before-restore-"

// chooseName chooses the path under which the present file is kept.
func (t *restoreTarget) chooseName(now func() time.Time) error {
	if _, err := os.Lstat(t.path); err != nil {
		return nil //nolint:nilerr // there is no present file
	}
	if err := t.finishKilled(); err != nil {
		return err
	}
	if now == nil {
		now = time.Now
	}
	t.kept = sqlite.UnusedPath(t.path + beforeRestore + now().UTC().Format(db.FileTime))
	return nil
}

// hiddenName returns the second name of the present file until it loses the first one.
// No process opens a file by two names, which could damage it.
func (t *restoreTarget) hiddenName() string {
	folder, base := filepath.Split(t.kept)
	return folder + "." + base
}

// finishKilled finishes what a killed restore left. It removes the second name of a
// file that still has the first one, and shows the second name of any other file.
func (t *restoreTarget) finishKilled() error {
	folder, base := filepath.Split(t.path)
	left, err := filepath.Glob(escapeGlob(folder) + "." + escapeGlob(base) + beforeRestore + "*")
	if err != nil {
		return err
	}
	present, err := os.Stat(t.path)
	for _, second := range left {
		if info, unknown := os.Stat(second); err == nil && unknown == nil && os.SameFile(info, present) {
			err = os.Remove(second)
		} else if err == nil {
			err = os.Rename(second, folder+filepath.Base(second)[1:])
		}
	}
	return err
}

// escapeGlob returns a pattern that matches only the text.
func escapeGlob(text string) string {
	if runtime.GOOS == "windows" {
		return text // its patterns have no escapes
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}

// put gives a complete file the path. The name changes from one complete file to
// another in one step.
func (t *restoreTarget) put(ctx context.Context, complete string) (kept string, err error) {
	if err := sqlite.SyncFile(complete); err != nil {
		return "", err
	}
	release, err := t.lock(ctx)
	if err != nil {
		return "", fmt.Errorf("%s %w", t.path, err)
	}
	defer release()
	if _, err := os.Lstat(t.path); err == nil && t.kept == "" {
		return "", sqlite.Exists(t.path) // another process created it, and the files beside it
	}
	if err := t.keepPresent(); err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" {
		release() // Windows does not replace an open file, which protects it as well
	}
	if t.kept == "" {
		return "", sqlite.Publish(complete, t.path, false)
	}
	err = os.Rename(complete, t.path)
	if err == nil {
		err = os.Rename(t.hiddenName(), t.kept)
	}
	return t.kept, errors.Join(err, sqlite.SyncFolder(filepath.Dir(t.path)))
}

// lock locks the present file; see sqlite.Lock.
func (t *restoreTarget) lock(ctx context.Context) (release func(), err error) {
	if t.kept == "" {
		return func() {}, nil
	}
	release, err = sqlite.Lock(ctx, t.path)
	if errors.Is(err, sqlite.ErrInUse) {
		err = fmt.Errorf("%w; stop `govsvc serve` and other programs that use it, and try again", err)
	}
	return release, err
}

// keepPresent gives the present file its second name, and renames the files beside it.
func (t *restoreTarget) keepPresent() error {
	if t.kept != "" {
		// Without links, the file system has no data file for a moment.
		if err := os.Link(t.path, t.hiddenName()); err != nil {
			if err := os.Rename(t.path, t.hiddenName()); err != nil {
				return err
			}
		}
	}
	_ = os.Remove(t.path + "-shm") // an index, which SQLite makes again
	for _, suffix := range []string{"-wal", "-journal"} {
		if _, err := os.Lstat(t.path + suffix); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		// It belongs to a damaged or a removed file, never to the restored one.
		if err := os.Rename(t.path+suffix, t.leftoverName()+suffix); err != nil {
			return err
		}
	}
	return sqlite.SyncFolder(filepath.Dir(t.path))
}

// leftoverName returns the path, without suffix, for the log and the journal of the
// present or the removed file.
func (t *restoreTarget) leftoverName() string {
	if t.kept != "" {
		return t.kept
	}
	return t.path + ".before-restore"
}
