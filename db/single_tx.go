package db

import (
	"context"
	"database/sql/driver"
	"errors"
)

// singleTxConnector makes one transaction of all that is done through a pool. It begins
// when the pool connects, with the lock of writers, and its one connection ends
// it: with a COMMIT, or by being closed. What begins a transaction of its own,
// as goose does for each migration, gets a savepoint.
type singleTxConnector struct {
	driver.Connector
	begun bool
}

// Connect begins the transaction.
func (w *singleTxConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if w.begun {
		return nil, errors.New("the transaction has ended early")
	}
	conn, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	part := savepointConn{conn}
	if err := part.do(ctx, "BEGIN IMMEDIATE"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	w.begun = true
	return part, nil
}

// savepointConn is the connection, and what its user takes for a transaction.
type savepointConn struct{ driver.Conn }

// Begin begins a part.
func (p savepointConn) Begin() (driver.Tx, error) {
	return p, p.do(context.Background(), "SAVEPOINT part")
}

// Commit ends a part.
func (p savepointConn) Commit() error { return p.do(context.Background(), "RELEASE part") }

// Rollback undoes a part.
func (p savepointConn) Rollback() error {
	return errors.Join(p.do(context.Background(), "ROLLBACK TO part"), p.Commit())
}

func (p savepointConn) do(ctx context.Context, query string) error {
	_, err := p.Conn.(driver.ExecerContext).ExecContext(ctx, query, nil)
	return err
}
