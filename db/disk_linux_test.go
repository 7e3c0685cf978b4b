package db_test

import (
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The disk of a test is a layer between SQLite and the system. It keeps a journal of the
// writes to the files of a folder, and can let them fail. It wraps some methods of
// SQLite's VFS, and is the default VFS of the test binary after its first use. Files of
// other folders do not use it.

// ioKind is the kind of an operation on a file.
type ioKind int

const (
	ioRead ioKind = iota
	ioWrite
	ioTruncate
	ioSync
	ioDelete
)

// ioDone is an operation on a file, or a mark of the test.
type ioDone struct {
	kind ioKind
	file string // its name within the folder
	at   int64  // of a write; of a truncation the size
	data []byte
	// folder: the folder was synced with it, too
	folder bool
	mark   string // of the test; the other fields are empty
}

// disk is the disk of a folder.
type disk struct {
	mutex   sync.Mutex
	journal []ioDone
	// fail is called before each operation. A result other than 0 is the error that
	// SQLite gets. Half of a write that fails is on the disk.
	fail func(kind ioKind, file string) int32
}

// note adds a mark to the journal.
func (d *disk) note(mark string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.journal = append(d.journal, ioDone{mark: mark})
}

// do runs an operation on a file of the disk.
func (d *disk) do(one ioDone, really func() int32) int32 {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.fail != nil {
		if code := d.fail(one.kind, one.file); code != 0 {
			return code
		}
	}
	code := really()
	if code == sqlite3.SQLITE_OK && one.kind != ioRead {
		d.journal = append(d.journal, one)
	}
	return code
}

// setFail sets which operations fail from now on.
func (d *disk) setFail(fail func(ioKind, string) int32) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.fail = fail
}

// newDisk makes the disk of a folder.
func newDisk(t testing.TB, folder string) *disk {
	t.Helper()
	mountOnce()
	d := &disk{}
	disks.Store(folder, d)
	t.Cleanup(func() { disks.Delete(folder) })
	return d
}

var (
	disks   sync.Map // folder → *disk
	handles sync.Map // SQLite's file → *handleOnDisk
	methods sync.Map // SQLite's methods → the wrapping ones
	system  *sqlite3.Tsqlite3_vfs
)

// handleOnDisk is an open file.
type handleOnDisk struct {
	disk *disk
	name string
	base *sqlite3.Tsqlite3_io_methods
	// first: SQLite makes logs and journals, and syncs their folder with the
	// first sync through each handle of one (unixSync, UNIXFILE_DIRSYNC)
	first atomic.Bool
}

// as converts a word of SQLite to the struct or the function that it points to.
func as[T any](word uintptr) T { return *(*T)(unsafe.Pointer(&word)) }

// wordOf converts a function to the word by which SQLite calls it.
func wordOf[F any](function F) uintptr { return *(*uintptr)(unsafe.Pointer(&function)) }

// inC allocates a T in SQLite's memory. It is never freed.
func inC[T any](tls *libc.TLS) *T {
	var sized T
	return as[*T](sqlite3.Xsqlite3_malloc(tls, int32(unsafe.Sizeof(sized))))
}

type (
	openFunc     = func(tls *libc.TLS, vfs, path, file uintptr, flags int32, out uintptr) int32
	deleteFunc   = func(tls *libc.TLS, vfs, path uintptr, syncs int32) int32
	transferFunc = func(tls *libc.TLS, file, buffer uintptr, n int32, at int64) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size int64) int32
	syncFunc     = func(tls *libc.TLS, file uintptr, flags int32) int32
	closeFunc    = func(tls *libc.TLS, file uintptr) int32
)

var mountOnce = sync.OnceFunc(func() {
	tls := libc.NewTLS()
	system = as[*sqlite3.Tsqlite3_vfs](sqlite3.Xsqlite3_vfs_find(tls, 0))
	layer := inC[sqlite3.Tsqlite3_vfs](tls)
	*layer = *system
	name, err := libc.CString("disk of a test")
	if err != nil {
		panic(err)
	}
	layer.FzName, layer.FpNext = name, 0
	layer.FxOpen, layer.FxDelete = wordOf(openOnDisk), wordOf(deleteOnDisk)
	if code := sqlite3.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(layer)), 1); code != 0 {
		panic(code)
	}
})

// diskOf finds the disk of a file; nil if it has none.
func diskOf(path uintptr) (*disk, string) {
	if path == 0 {
		return nil, "" // a temporary file
	}
	folder, name := filepath.Split(libc.GoString(path))
	found, _ := disks.Load(strings.TrimSuffix(folder, "/"))
	d, _ := found.(*disk)
	return d, name
}

func openOnDisk(tls *libc.TLS, _, path, file uintptr, flags int32, out uintptr) int32 {
	result := as[openFunc](system.FxOpen)(tls, uintptr(unsafe.Pointer(system)), path, file, flags, out)
	d, name := diskOf(path)
	head := as[*sqlite3.Tsqlite3_file](file)
	if d == nil || result != sqlite3.SQLITE_OK || head.FpMethods == 0 {
		return result
	}
	base := as[*sqlite3.Tsqlite3_io_methods](head.FpMethods)
	ours, ok := methods.Load(head.FpMethods)
	if !ok {
		front := inC[sqlite3.Tsqlite3_io_methods](tls)
		*front = *base
		front.FxRead, front.FxWrite = wordOf(readOnDisk), wordOf(writeOnDisk)
		front.FxTruncate, front.FxSync = wordOf(truncateOnDisk), wordOf(syncOnDisk)
		front.FxClose = wordOf(closeOnDisk)
		ours, _ = methods.LoadOrStore(head.FpMethods, front)
	}
	h := &handleOnDisk{disk: d, name: name, base: base}
	h.first.Store(strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, "-journal"))
	handles.Store(file, h)
	head.FpMethods = uintptr(unsafe.Pointer(ours.(*sqlite3.Tsqlite3_io_methods)))
	return result
}

func handleOf(file uintptr) *handleOnDisk {
	found, _ := handles.Load(file)
	return found.(*handleOnDisk)
}

func readOnDisk(tls *libc.TLS, file, buffer uintptr, n int32, at int64) int32 {
	h := handleOf(file)
	return h.disk.do(ioDone{kind: ioRead, file: h.name}, func() int32 {
		return as[transferFunc](h.base.FxRead)(tls, file, buffer, n, at)
	})
}

func writeOnDisk(tls *libc.TLS, file, buffer uintptr, n int32, at int64) int32 {
	h := handleOf(file)
	write := as[transferFunc](h.base.FxWrite)
	data := append([]byte(nil), unsafe.Slice(as[*byte](buffer), n)...)
	result := h.disk.do(ioDone{kind: ioWrite, file: h.name, at: at, data: data}, func() int32 { return write(tls, file, buffer, n, at) })
	if result != sqlite3.SQLITE_OK {
		_ = write(tls, file, buffer, n/2, at)
	}
	return result
}

func truncateOnDisk(tls *libc.TLS, file uintptr, size int64) int32 {
	h := handleOf(file)
	return h.disk.do(ioDone{kind: ioTruncate, file: h.name, at: size}, func() int32 {
		return as[truncateFunc](h.base.FxTruncate)(tls, file, size)
	})
}

func syncOnDisk(tls *libc.TLS, file uintptr, flags int32) int32 {
	h := handleOf(file)
	one := ioDone{kind: ioSync, file: h.name, folder: h.first.Swap(false)}
	return h.disk.do(one, func() int32 { return as[syncFunc](h.base.FxSync)(tls, file, flags) })
}

func closeOnDisk(tls *libc.TLS, file uintptr) int32 {
	h := handleOf(file)
	handles.Delete(file)
	return as[closeFunc](h.base.FxClose)(tls, file)
}

func deleteOnDisk(tls *libc.TLS, _, path uintptr, syncs int32) int32 {
	really := func() int32 {
		return as[deleteFunc](system.FxDelete)(tls, uintptr(unsafe.Pointer(system)), path, syncs)
	}
	if d, name := diskOf(path); d != nil {
		return d.do(ioDone{kind: ioDelete, file: name, folder: syncs != 0}, really)
	}
	return really()
}
