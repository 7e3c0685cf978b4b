package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	modernc "modernc.org/sqlite"
)

// SingleTx runs fn with a database/sql pool of one connection, in one transaction
// that holds the write lock. It commits if fn returns nil. A transaction that fn
// begins, as goose does for each migration, becomes a savepoint.
func (d *DB) SingleTx(ctx context.Context, fn func(*sql.DB) error) error {
	connector, err := modernc.NewConnector(d.dsn("rw"))
	if err != nil {
		return err
	}
	pool := sql.OpenDB(&singleTxConnector{Connector: connector})
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	if err := pool.PingContext(ctx); err != nil {
		return err
	}
	if err := fn(pool); err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, "COMMIT")
	return err
}

// singleTxConnector begins a transaction when its pool connects. The transaction
// ends with a COMMIT, or with the connection.
type singleTxConnector struct {
	driver.Connector
	begun bool
}

// Connect connects and begins the transaction.
func (s *singleTxConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if s.begun {
		return nil, errors.New("the transaction has ended early")
	}
	c, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	savepoints := savepointConn{c}
	if err := savepoints.do(ctx, "BEGIN IMMEDIATE"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	s.begun = true
	return savepoints, nil
}

// savepointConn is a connection whose transactions are savepoints.
type savepointConn struct{ driver.Conn }

// Begin sets a savepoint.
func (s savepointConn) Begin() (driver.Tx, error) {
	return s, s.do(context.Background(), "SAVEPOINT part")
}

// Commit releases the savepoint.
func (s savepointConn) Commit() error { return s.do(context.Background(), "RELEASE part") }

// Rollback undoes everything since the savepoint.
func (s savepointConn) Rollback() error {
	return errors.Join(s.do(context.Background(), "ROLLBACK TO part"), s.Commit())
}

func (s savepointConn) do(ctx context.Context, query string) error {
	_, err := s.Conn.(driver.ExecerContext).ExecContext(ctx, query, nil)
	return err
}
