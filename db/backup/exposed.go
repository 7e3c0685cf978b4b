package backup

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"govsvc/db"
)

// Exposed is a file with data that other users of the system can read or write.
type Exposed struct {
	Path string
	Mode fs.FileMode // its permissions
}

// Exposed lists the files that other users can read or write: the data file, the files
// beside it (log, index, copies), and the backups in the folder of the last one. It is
// empty on Windows, which has no such permissions.
func (s *Service) Exposed(ctx context.Context) ([]Exposed, error) {
	if runtime.GOOS == "windows" {
		return nil, nil
	}
	paths, err := filepath.Glob(escapeGlob(s.store.File.Path()) + "*")
	if err != nil {
		return nil, err
	}
	last, err := s.Last(ctx)
	if err != nil && !db.LacksSchema(err) {
		return nil, err
	}
	if last.Made != nil {
		folder := filepath.Dir(last.Made.Path)
		backups, err := filepath.Glob(filepath.Join(escapeGlob(folder), escapeGlob(fileStem(s.store.File.Path()))+"-*"))
		if err != nil {
			return nil, err
		}
		paths = append(append(paths, last.Made.Path), backups...)
	}
	slices.Sort(paths)
	var list []Exposed
	for _, path := range slices.Compact(paths) {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue // removed since, or not a regular file
		}
		if info.Mode().Perm()&0o077 != 0 {
			list = append(list, Exposed{path, info.Mode().Perm()})
		}
	}
	return list, nil
}
