//go:build unix

package db

import (
	"os"
	"path/filepath"
	"syscall"
)

// FreeSpace is how many bytes may still be written to the disk that holds path.
func FreeSpace(path string) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(disk.Bavail) * int64(disk.Bsize), nil //nolint:gosec,unconvert // other types on other systems, and no disk of exabytes
}

// held tells whether another process holds a lock of SQLite's on a file: on the
// bytes that its lock protocol uses, whatever the file itself holds.
func held(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	const pending, bytes = 0x40000000, 512
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: pending, Len: bytes} // which any other is in the way of
	err = syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock)
	return err == nil && lock.Type != syscall.F_UNLCK
}

// own gives a new file the owner of the one that it replaces, or of the folder,
// where root restores what a service works on.
func own(file, path string) {
	if os.Geteuid() != 0 {
		return
	}
	for _, like := range []string{path, filepath.Dir(path)} {
		if info, err := os.Stat(like); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				_ = os.Chown(file, int(stat.Uid), int(stat.Gid)) // root may
			}
			return
		}
	}
}
