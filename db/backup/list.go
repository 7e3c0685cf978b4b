package backup

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"govsvc/db"
)

// Listed is a backup in the list of the known backups. Make has read it completely and
// checked it before the file got its name.
type Listed struct {
	Path    string
	At      string // a timestamp
	Bytes   int64
	Missing bool // the file no longer exists
}

// listLimit bounds the list of the known backups.
const listLimit = 100

// List returns the newest known backups, newest first: the last one, and those of the
// schedule in its folder.
func (s *Service) List(ctx context.Context) ([]Listed, error) {
	last, err := s.Last(ctx)
	if err != nil || last.Made == nil {
		return nil, err
	}
	made := last.Made
	_, gone := os.Stat(made.Path)
	list := []Listed{{Path: made.Path, At: made.At, Bytes: made.Bytes, Missing: gone != nil}}
	// a folder that is gone has no further backups
	files, _ := scheduled(filepath.Dir(made.Path), fileStem(s.store.File.Path()), s.store.Now())
	for _, file := range files[:min(len(files), listLimit)] {
		info, err := os.Stat(file.path)
		if err != nil || file.path == made.Path {
			continue
		}
		list = append(list, Listed{Path: file.path, At: db.Timestamp(file.at), Bytes: info.Size()})
	}
	slices.SortStableFunc(list, func(a, b Listed) int { return strings.Compare(b.At, a.At) })
	return list, nil
}
