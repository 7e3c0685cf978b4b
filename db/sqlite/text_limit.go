package sqlite

import (
	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// defaultTextLimit is SQLite's default limit on the length of a text in bytes.
const defaultTextLimit = 1_000_000_000

// limitText sets the maximum length of a text in bytes (SQLITE_LIMIT_LENGTH). A
// statement that reads or computes a longer text fails.
func (c *conn) limitText(bytes int) error {
	_, err := modernc.Limit(c.holder, sqlite3.SQLITE_LIMIT_LENGTH, bytes)
	return c.note(err)
}

// rowWithin reads the first row of a query, like first, with a limit on the length of
// texts in bytes. ok is false if the query reads or computes a longer text.
func (c *conn) rowWithin(bytes int, query string, args []any) (row Values, ok bool, err error) {
	if err := c.limitText(bytes); err != nil {
		return nil, false, err
	}
	row, err = c.first(background, query, args)
	tooLong := isTooLong(err)
	if tooLong {
		c.failed, err = false, nil
	}
	if limit := c.limitText(defaultTextLimit); err == nil {
		err = limit
	}
	return row, !tooLong, err
}
