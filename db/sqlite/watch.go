package sqlite

// Watch reports commits to the file by any process. One goroutine uses it at a
// time.
type Watch struct {
	db      *DB
	version int64
}

// Watch starts to watch the file.
func (d *DB) Watch() (*Watch, error) {
	version, err := d.DataVersion()
	return &Watch{db: d, version: version}, err
}

// Changed reports whether a transaction was committed since the last call. It takes some
// nanoseconds. A commit that is under way is reported by a later call.
func (w *Watch) Changed() (bool, error) {
	version, err := w.db.DataVersion()
	if err != nil || version == 0 || version == w.version {
		return false, err
	}
	w.version = version
	return true, nil
}
