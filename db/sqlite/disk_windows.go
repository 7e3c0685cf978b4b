package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

var freeDiskSpace = syscall.NewLazyDLL("kernel32.dll").NewProc("GetDiskFreeSpaceExW")

// FreeSpace returns how many bytes can still be written to the disk that holds path.
func FreeSpace(path string) (int64, error) {
	folder, err := syscall.UTF16PtrFromString(filepath.Dir(path))
	if err != nil {
		return 0, err
	}
	var free uint64
	if done, _, err := freeDiskSpace.Call(uintptr(unsafe.Pointer(folder)), uintptr(unsafe.Pointer(&free)), 0, 0); done == 0 {
		return 0, &os.PathError{Op: "GetDiskFreeSpaceEx", Path: path, Err: err}
	}
	return int64(min(free, 1<<62)), nil
}

// isLocked returns false, because Windows does not replace an open file.
func isLocked(string) bool { return false }

// CopyOwner does nothing: on Windows a file has the permissions of its folder.
func CopyOwner(_, _ string) {}
