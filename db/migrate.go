package db

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"govsvc/migrations"
)

// patience is how much longer than a write an opening waits for its turn:
// another process may be copying and migrating a large file.
const patience = 60

// migrate brings the file to this program's version, unless it is of that
// version. All of it is one transaction: of several processes that open the
// file at once one does it, and the others find it done; whoever is killed
// meanwhile leaves the file as it was.
func (d *DB) migrate(ctx context.Context) error {
	for until := time.Now().Add(patience * d.options.Wait); ; {
		have, want, err := d.older(ctx)
		if err != nil || have == want {
			return err
		}
		if err = d.upgrade(ctx); !busy(err) {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("is of version %d and must become %d, but another process keeps writing to it (%w); stop that, and try again", have, want, err)
		}
	}
}

// older tells the file's version and this program's, which may not be the lower
// one.
func (d *DB) older(ctx context.Context) (have, want int, err error) {
	have, want, err = d.Versions(ctx)
	if err == nil && have > want {
		err = newer(have, want)
	}
	return have, want, err
}

// upgrade holds the write lock from the look at the file's version to the end.
func (d *DB) upgrade(ctx context.Context) error {
	connector, err := sqlite.NewConnector(d.dsn("rw"))
	if err != nil {
		return err
	}
	pool := sql.OpenDB(&singleTxConnector{Connector: connector})
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	if err := pool.PingContext(ctx); err != nil {
		return err
	}
	have, want, err := d.older(ctx)
	if err != nil || have == want { // somebody else was sooner
		return err
	}
	if have == 0 || d.options.copied {
		err = d.up(ctx, pool, have, want)
	} else {
		err = d.copyBefore(ctx, have, func() error { return d.up(ctx, pool, have, want) })
	}
	if err == nil {
		_, err = pool.ExecContext(ctx, "COMMIT")
	}
	return err
}

// up makes the tables what they are in this version, and fills a new file.
func (d *DB) up(ctx context.Context, pool *sql.DB, have, want int) error {
	provider, err := goose.NewProvider(goose.DialectSQLite3, pool, migrations.Files)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate from version %d to %d: %w", have, want, err)
	}
	if have > 0 {
		return nil
	}
	return d.seed(ctx, pool)
}

var errForeign = errors.New("is not a govsvc data file")

// identify refuses a file that another program made, or that is none of
// SQLite's.
func identify(ctx context.Context, path string) error {
	sqlite, ours, err := head(path)
	if err == nil && (!sqlite || !ours) && !oursByLog(ctx, path) {
		err = errForeign
	}
	return err
}

// oursByLog asks the log beside a file whose it is. A power cut while the log
// is moved into the file may garble any of it, its head as well: all of that is
// in the log still, and SQLite takes it from there.
func oursByLog(ctx context.Context, path string) bool {
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
		return false
	}
	d := &DB{path: path}
	pool, err := sql.Open("sqlite", d.dsn("ro"))
	if err != nil {
		return false
	}
	defer pool.Close()
	var id int64
	err = pool.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id)
	return err == nil && id == applicationID
}

// isForeign tells whether a file is another program's. One of ours whose head is
// damaged is not.
func isForeign(path string) bool {
	sqlite, ours, err := head(path)
	return err == nil && sqlite && !ours
}

// head tells whose a file is, without opening it: the head of an SQLite file
// does (SQLite, Database File Format, 1.3).
func head(path string) (sqlite, ours bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, false, err
	}
	defer file.Close()
	head := make([]byte, 72)
	if _, err := io.ReadFull(file, head); err != nil {
		return false, false, nil //nolint:nilerr // shorter than any
	}
	return string(head[:16]) == "SQLite format 3\x00", binary.BigEndian.Uint32(head[68:]) == applicationID, nil
}

// copyBefore keeps the file as it is before a change, if the change can be
// made, under a name that tells its version; see Restore for the way back.
func (d *DB) copyBefore(ctx context.Context, version int, change func() error) error {
	path := unused(fmt.Sprintf("%s.v%d-%s", d.path, version, d.Now().Format(fileTime)))
	return viaPartial(path, func(partial string) error {
		if err := d.copyTo(ctx, partial); err != nil {
			return fmt.Errorf("copy before the migration: %w", err)
		}
		if err := change(); err != nil {
			return err
		}
		return name(partial, path, false)
	})
}

// seed gives a new file its secrets and its one organisation.
func (d *DB) seed(ctx context.Context, pool *sql.DB) error {
	for _, name := range []string{"cursor", "key_tag"} {
		secret, err := d.random(32)
		if err != nil {
			return err
		}
		if _, err := pool.ExecContext(ctx, "INSERT INTO secrets (name, value) VALUES (?, ?)", name, secret); err != nil {
			return err
		}
	}
	at := Timestamp(d.Now())
	_, err := pool.ExecContext(ctx, "INSERT INTO organisations (id, name, plan, subscription, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
		d.newID(), DefaultOrganisation, Enterprise, Active, at, at)
	return err
}

// secrets authenticate what the file gives out.
type secrets struct{ cursor, keyTag []byte }

func (d *DB) fileSecrets(ctx context.Context) (secrets, error) {
	var s secrets
	err := d.Each(ctx, func(row Scanner) error {
		var name string
		var value []byte
		if err := row.Scan(&name, &value); err != nil {
			return err
		}
		switch name {
		case "cursor":
			s.cursor = value
		case "key_tag":
			s.keyTag = value
		}
		return nil
	}, "SELECT name, value FROM secrets")
	if err == nil && (s.cursor == nil || s.keyTag == nil) {
		err = errors.New("is damaged: its secrets are missing; restore a backup")
	}
	return s, err
}

// Version is the version of the file's tables; 0 where there are none yet.
func (d *DB) Version(ctx context.Context) (int, error) {
	var made bool
	if err := d.Row(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'goose_db_version')").Scan(&made); err != nil || !made {
		return 0, storeError(err)
	}
	var version int
	err := d.Row(ctx, "SELECT max(version_id) FROM goose_db_version WHERE is_applied").Scan(&version)
	return version, storeError(err)
}
