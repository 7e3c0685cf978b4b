package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// native is a connection for reading through the interface of the SQLite library. The
// driver does not offer what it is for: the mapping of the WAL index, and the tables of
// a statement.
//
// The mapping is the one that SQLite itself made. A mapping of our own would need a
// descriptor of the -shm file, and closing any descriptor of a file drops all POSIX locks
// of the process on it. SQLite closes its descriptor when the last connection of the process
// is closed. This connection is one of them, so the mapping is valid as long as it is
// open, and no other process can remove or replace the file.
type native struct {
	mutex  sync.Mutex
	tls    *libc.TLS
	handle uintptr
	closed bool
	kept   map[string]uintptr // prepared statements by their text
}

// mainSchema is the name of the file's schema.
const mainSchema = "main"

// openNative opens a connection. It waits for no lock.
func openNative(path string) (*native, error) {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	n := &native{tls: libc.NewTLS(), kept: map[string]uintptr{}}
	name, err := libc.CString((&url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro"}).String())
	if err != nil {
		n.tls.Close()
		return nil, err
	}
	defer libc.Xfree(n.tls, name)
	out := n.tls.Alloc(pointerSize)
	defer n.tls.Free(pointerSize)
	code := sqlite3.Xsqlite3_open_v2(n.tls, name, out, sqlite3.SQLITE_OPEN_READONLY|sqlite3.SQLITE_OPEN_URI, 0)
	n.handle = *as[*uintptr](out)
	if code == sqlite3.SQLITE_OK {
		// Without it, SQLite does not report what foreign keys change.
		code = n.exec("PRAGMA foreign_keys = 1")
	}
	if err := n.check(code, "open"); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// exec runs a statement without a result.
func (n *native) exec(query string) int32 {
	text, err := libc.CString(query)
	if err != nil {
		return sqlite3.SQLITE_NOMEM
	}
	defer libc.Xfree(n.tls, text)
	return sqlite3.Xsqlite3_exec(n.tls, n.handle, text, 0, 0, 0)
}

// close closes the connection. The mapping is not valid after that.
func (n *native) close() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.closed = true
	for _, statement := range n.kept {
		sqlite3.Xsqlite3_finalize(n.tls, statement)
	}
	clear(n.kept)
	sqlite3.Xsqlite3_close_v2(n.tls, n.handle)
	n.tls.Close()
}

// number returns the first column of the first row of a statement, which is kept.
func (n *native) number(query string) (int64, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	statement := n.kept[query]
	if statement == 0 {
		var err error
		if statement, err = n.prepare(query); err != nil {
			return 0, err
		}
		n.kept[query] = statement
	}
	code := sqlite3.Xsqlite3_step(n.tls, statement)
	value := sqlite3.Xsqlite3_column_int64(n.tls, statement, 0)
	if reset := sqlite3.Xsqlite3_reset(n.tls, statement); code == sqlite3.SQLITE_ROW {
		code = reset
	}
	return value, n.check(code, query)
}

// prepare prepares a statement. A text of several statements is an error. The caller
// holds the mutex.
func (n *native) prepare(query string) (uintptr, error) {
	if n.closed {
		return 0, ErrClosed
	}
	text, err := libc.CString(query)
	if err != nil {
		return 0, err
	}
	defer libc.Xfree(n.tls, text)
	out := n.tls.Alloc(2 * pointerSize)
	defer n.tls.Free(2 * pointerSize)
	rest := out + uintptr(pointerSize)
	*as[*uintptr](out), *as[*uintptr](rest) = 0, text
	err = n.check(sqlite3.Xsqlite3_prepare_v2(n.tls, n.handle, text, -1, out, rest), query)
	statement := *as[*uintptr](out)
	if err == nil && strings.Trim(libc.GoString(*as[*uintptr](rest)), "; \t\r\n") != "" {
		sqlite3.Xsqlite3_finalize(n.tls, statement)
		return 0, fmt.Errorf("%s: more than one statement", query)
	}
	return statement, err
}

func (n *native) check(code int32, what string) error {
	if code == sqlite3.SQLITE_OK {
		return nil
	}
	return fmt.Errorf("%s: SQLite code %d", what, code)
}

// errNoIndex says that the WAL index can't be read from memory.
var errNoIndex = errors.New("the WAL index is not in shared memory")

const (
	// regionSize is the size of the parts in which SQLite maps the WAL index.
	regionSize  = 32768
	pointerSize = int(unsafe.Sizeof(uintptr(0)))
)

type shmMapFunc = func(tls *libc.TLS, file uintptr, region, size, extend int32, out uintptr) int32

// index returns the WAL index. The file must have a log, and this connection must have
// read from it.
func (n *native) index() (*walIndex, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	schema, err := libc.CString(mainSchema)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(n.tls, schema)
	out := n.tls.Alloc(pointerSize)
	defer n.tls.Free(pointerSize)
	*as[*uintptr](out) = 0
	if err := n.check(sqlite3.Xsqlite3_file_control(n.tls, n.handle, schema, sqlite3.SQLITE_FCNTL_FILE_POINTER, out), "file"); err != nil {
		return nil, err
	}
	file := *as[*uintptr](out)
	if file == 0 {
		return nil, errNoIndex
	}
	methods := as[*sqlite3.Tsqlite3_io_methods](as[*sqlite3.Tsqlite3_file](file).FpMethods)
	if methods == nil || methods.FiVersion < 2 || methods.FxShmMap == 0 {
		return nil, errNoIndex
	}
	*as[*uintptr](out) = 0
	if err := n.check(as[shmMapFunc](methods.FxShmMap)(n.tls, file, 0, regionSize, 0, out), "map"); err != nil {
		return nil, err
	}
	index := as[*walIndex](*as[*uintptr](out))
	if index == nil {
		return nil, errNoIndex
	}
	return index, nil
}

// as converts an address or a function of the library to a Go value.
func as[T any](address uintptr) T {
	return *(*T)(unsafe.Pointer(&address)) //nolint:gosec // memory of the library, not of Go
}

// addressOf returns the address by which the library calls a function that is not a
// closure.
func addressOf[F any](function F) uintptr {
	return *(*uintptr)(unsafe.Pointer(&function)) //nolint:gosec // a function has one word
}
