//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
)

// FreeSpace returns how many bytes can still be written to the disk that holds path.
func FreeSpace(path string) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(disk.Bavail) * int64(disk.Bsize), nil //nolint:gosec,unconvert // other types on other systems, and no disk of exabytes
}

// isLocked reports whether another process holds a lock on the bytes of a file that
// SQLite's lock protocol uses. The file may be damaged.
func isLocked(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	const pending, bytes = 0x40000000, 512
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: pending, Len: bytes} // which conflicts with any other
	err = syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock)
	return err == nil && lock.Type != syscall.F_UNLCK
}

// CopyOwner gives a new file the owner of the file that it will replace, or of the
// folder. It does so for root only: root can restore the file of a service.
func CopyOwner(file, path string) {
	if os.Geteuid() != 0 {
		return
	}
	for _, like := range []string{path, filepath.Dir(path)} {
		if info, err := os.Stat(like); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				_ = os.Chown(file, int(stat.Uid), int(stat.Gid)) // root is allowed to
			}
			return
		}
	}
}
