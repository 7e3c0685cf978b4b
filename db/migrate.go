package db

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pressly/goose/v3"

	"govsvc/migrations"
)

// migrate brings the file to this program's version. A file with data is
// copied beside itself first; one made by a newer program is refused.
func (d *DB) migrate(ctx context.Context) error {
	pool, err := sql.Open("sqlite", d.dsn("rw"))
	if err != nil {
		return err
	}
	defer pool.Close()
	provider, err := goose.NewProvider(goose.DialectSQLite3, pool, migrations.Files)
	if err != nil {
		return err
	}
	have, want, err := provider.GetVersions(ctx)
	if err != nil {
		return storeError(err)
	}
	switch {
	case have > want:
		return newer(int(have), int(want))
	case have > 0 && have < want && !d.options.copied:
		if err := d.copyBefore(ctx, have); err != nil {
			return fmt.Errorf("copy before the migration: %w", err)
		}
	}
	if have < want {
		if _, err := provider.Up(ctx); err != nil {
			return fmt.Errorf("migrate from version %d to %d: %w", have, want, err)
		}
	}
	// whoever made the tables may have been killed before this
	var seeded bool
	if err := pool.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM organisations)").Scan(&seeded); err != nil || seeded {
		return storeError(err)
	}
	return d.seed(ctx)
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

// copyBefore keeps the file as it is under a name that tells its version; see
// Restore for the way back.
func (d *DB) copyBefore(ctx context.Context, version int64) error {
	path := fmt.Sprintf("%s.v%d-%s", d.path, version, d.Now().Format(fileTime))
	return viaPartial(path, func(partial string) error {
		if err := d.copyTo(ctx, partial); err != nil {
			return err
		}
		return name(partial, path, false)
	})
}

// seed gives a new file its secrets and its one organisation, unless another
// process was sooner.
func (d *DB) seed(ctx context.Context) error {
	return d.maintain(ctx, func(tx *Tx) error {
		for _, name := range []string{"cursor", "key_tag"} {
			secret, err := d.random(32)
			if err != nil {
				return err
			}
			if _, err := tx.exec("INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", name, secret); err != nil {
				return err
			}
		}
		_, err := tx.exec(`INSERT INTO organisations (id, name, plan, subscription, created_at, updated_at)
			SELECT ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM organisations)`,
			tx.newID(), DefaultOrganisation, Enterprise, Active, tx.At(), tx.At())
		return err
	})
}

// secrets authenticate what the file gives out.
type secrets struct{ cursor, keyTag []byte }

func (d *DB) fileSecrets(ctx context.Context) (secrets, error) {
	var s secrets
	err := d.rows(ctx, func(row scanner) error {
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

// Version is the version of the file's tables.
func (d *DB) Version(ctx context.Context) (int, error) {
	var version int
	err := d.row(ctx, "SELECT max(version_id) FROM goose_db_version WHERE is_applied").Scan(&version)
	return version, storeError(err)
}
