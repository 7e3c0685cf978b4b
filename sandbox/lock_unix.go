//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// lockFile takes the lock on an open file unless another process holds it.
func lockFile(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil //nolint:gosec // descriptors are small
}

// ownedByUser tells whether a file is this user's.
func ownedByUser(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
