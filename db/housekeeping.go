package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// LogSize is how many bytes the log beside the file has: what was written since
// it was last emptied, or more.
func (d *DB) LogSize() int64 {
	size, _ := fileSize(d.path + "-wal") // there is none, or none that can be known
	return size
}

// Size is how many bytes the file has, without the log beside it.
func (d *DB) Size() int64 {
	size, _ := fileSize(d.path)
	return size
}

// Sizes tells how large the file and the log beside it are, in bytes.
func (d *DB) Sizes() (file, log int64, err error) {
	if file, err = fileSize(d.path); err != nil {
		return 0, 0, err
	}
	if log, err = fileSize(d.path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return file, log, err
}

func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Bounds of the return of free space.
const (
	// keptFree is the part of the file, one in so many, that stays free: what
	// was removed once is often written again.
	keptFree = 10
	// leastFree is how many pages may stay free in any case.
	leastFree = 256
	// givenAtOnce bounds how many pages one transaction moves, so that it holds
	// up no writer for long.
	givenAtOnce = 128
)

// GiveBack returns space that has become free within the file to the disk, in
// small transactions between those of others, and tells how many bytes. A part
// stays for what is to be written.
func (d *DB) GiveBack(ctx context.Context) (bytes int64, err error) {
	for {
		var page, pages, free, given int64
		err := d.maintain(ctx, func(tx *Tx) error {
			err := tx.Row("SELECT page_size, page_count, freelist_count FROM pragma_page_size, pragma_page_count, pragma_freelist_count").
				Scan(&page, &pages, &free)
			if err != nil || free < max(pages/keptFree, leastFree)+givenAtOnce {
				return storeError(err)
			}
			err = tx.Each(func(Scanner) error { return nil }, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", givenAtOnce))
			if err != nil {
				return err
			}
			var left int64
			err = tx.Row("SELECT page_count FROM pragma_page_count").Scan(&left)
			given = pages - left
			return storeError(err)
		})
		bytes += given * page
		if err != nil || given == 0 {
			return bytes, err
		}
	}
}
