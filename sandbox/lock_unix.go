//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// lockFile locks an open file unless another process has the lock.
func lockFile(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil //nolint:gosec // descriptors are small
}

// ownedByUser reports whether a file belongs to this user.
func ownedByUser(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
