package sqlite

import (
	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// noTextLimit is SQLite's own limit on the length of a text in bytes.
const noTextLimit = 1_000_000_000

// limitText sets the length in bytes beyond which a text is an error of the
// statement that makes or reads it (SQLITE_LIMIT_LENGTH).
func (c *conn) limitText(bytes int) error {
	_, err := modernc.Limit(c.holder, sqlite3.SQLITE_LIMIT_LENGTH, bytes)
	return c.note(err)
}

// rowWithin is first with a limit on the length of texts in bytes. ok is false if the
// query makes or reads a longer text.
func (c *conn) rowWithin(bytes int, query string, args []any) (row Values, ok bool, err error) {
	if err := c.limitText(bytes); err != nil {
		return nil, false, err
	}
	row, err = c.first(background, query, args)
	tooLong := isTooLong(err)
	if tooLong {
		c.failed, err = false, nil
	}
	if limit := c.limitText(noTextLimit); err == nil {
		err = limit
	}
	return row, !tooLong, err
}
