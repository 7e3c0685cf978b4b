package db

import (
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

var freeDiskSpace = syscall.NewLazyDLL("kernel32.dll").NewProc("GetDiskFreeSpaceExW")

// FreeSpace is how many bytes may still be written to the disk that holds path.
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

// held is for other systems: here a file that is open can't be replaced.
func held(string) bool { return false }

// own is for other systems: here a file has its folder's permissions.
func own(_, _ string) {}
