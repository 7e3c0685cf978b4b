package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// bounded is a connection whose longest text can be set. The driver offers that
// for connections of database/sql alone.
type bounded struct {
	pool *sql.DB
	conn *sql.Conn
}

// sqliteTextLimit is SQLite's own bound on the length of a text in bytes.
const sqliteTextLimit = 1_000_000_000

// connectBounded opens the file for reading.
func (d *DB) connectBounded(ctx context.Context) (*connection, error) {
	connector, err := sqlite.NewConnector(d.dsn("ro"))
	if err != nil {
		return nil, err
	}
	b := &bounded{pool: sql.OpenDB(connector)}
	if b.conn, err = b.pool.Conn(ctx); err != nil {
		return nil, errors.Join(err, b.pool.Close())
	}
	made := &connection{statements: map[string]statement{}, bounded: b}
	err = b.conn.Raw(func(conn any) error {
		made.conn = conn.(driver.Conn)
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return made, nil
}

// longest sets the length in bytes beyond which a text is an error of the
// statement that makes or reads it (SQLITE_LIMIT_LENGTH).
func (b *bounded) longest(bytes int) error {
	_, err := sqlite.Limit(b.conn, sqlite3.SQLITE_LIMIT_LENGTH, bytes)
	return err
}

func (b *bounded) close() error { return errors.Join(b.conn.Close(), b.pool.Close()) }

// tooLong tells whether a statement failed because a text was longer than the
// bound.
func tooLong(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_TOOBIG }
