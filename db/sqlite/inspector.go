package sqlite

import (
	"errors"
	"sync"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// inspector is a connection that finds out what no query returns: the mapping of the WAL
// index, and the tables of a statement. Many goroutines may use it.
//
// The mapping is the one that SQLite itself made. A mapping of our own would need a
// descriptor of the -shm file, and closing any descriptor of a file drops all POSIX locks
// of the process on it. SQLite closes its descriptor when the last connection of the process
// is closed. This connection is one of them, so the mapping is valid as long as it is
// open, and no other process can remove or replace the file.
type inspector struct {
	mutex  sync.Mutex
	conn   *conn
	closed bool
}

// mainSchema is the name of the file's schema.
const mainSchema = "main"

// openInspector opens a connection. It waits for no lock, so it needs no context.
func (d *DB) openInspector() (*inspector, error) {
	// Without foreign keys, SQLite does not report what they change.
	c, err := dial(background, fileURI(d.Path(), "ro", false), []string{"foreign_keys(1)"})
	if err != nil {
		return nil, err
	}
	return &inspector{conn: c}, nil
}

// close closes the connection. The mapping is not valid after that.
func (i *inspector) close() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.closed = true
	_ = i.conn.close() // it only reads
}

// number returns the first column of the first row of a statement, which is cached.
func (i *inspector) number(query string) (number int64, err error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.closed {
		return 0, ErrClosed
	}
	err = i.conn.Row(query).Scan(&number)
	return number, err
}

// errNoIndex says that the WAL index can't be read from memory.
var errNoIndex = errors.New("the WAL index is not in shared memory")

// regionSize is the size of the parts in which SQLite maps the WAL index.
const regionSize = 32768

type shmMapFunc = func(tls *libc.TLS, file uintptr, region, size, extend int32, out uintptr) int32

// index returns the WAL index. The file must have a log, and this connection must have
// read from it.
func (i *inspector) index() (*walIndex, error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	c := i.conn
	schema, err := libc.CString(mainSchema)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, schema)
	out := c.tls.Alloc(pointerSize)
	defer c.tls.Free(pointerSize)
	*as[*uintptr](out) = 0
	if err := c.check(sqlite3.Xsqlite3_file_control(c.tls, c.handle, schema, sqlite3.SQLITE_FCNTL_FILE_POINTER, out)); err != nil {
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
	if err := c.check(as[shmMapFunc](methods.FxShmMap)(c.tls, file, 0, regionSize, 0, out)); err != nil {
		return nil, err
	}
	index := as[*walIndex](*as[*uintptr](out))
	if index == nil {
		return nil, errNoIndex
	}
	return index, nil
}
