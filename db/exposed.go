package db

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Exposed is a file that holds the data and that other users of the system can
// read or write.
type Exposed struct {
	Path string
	Mode fs.FileMode // its permissions
}

// Exposed lists the files of the store that other users can read or write: the
// data file, what stands beside it (the log, its index, copies), and the backups
// in the folder of the last one. It is empty on Windows, which has no such modes.
func (d *DB) Exposed(ctx context.Context) ([]Exposed, error) {
	if runtime.GOOS == "windows" {
		return nil, nil
	}
	paths, err := filepath.Glob(globbed(d.Path()) + "*")
	if err != nil {
		return nil, err
	}
	last, err := d.LastBackup(ctx)
	if err != nil && !LacksSchema(err) {
		return nil, err
	}
	if last.Made != nil {
		folder := filepath.Dir(last.Made.Path)
		backups, err := filepath.Glob(filepath.Join(globbed(folder), globbed(stem(d.Path()))+"-*"))
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
			continue // removed meanwhile, or of another kind
		}
		if info.Mode().Perm()&0o077 != 0 {
			list = append(list, Exposed{path, info.Mode().Perm()})
		}
	}
	return list, nil
}
