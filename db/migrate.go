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
		return fmt.Errorf("was made by a newer govsvc (its version is %d, this program knows up to %d); "+
			"use the newer program, or restore a backup made before the upgrade", have, want)
	case have == want:
		return nil
	case have > 0:
		if err := d.copyBefore(ctx, have); err != nil {
			return fmt.Errorf("copy before the migration: %w", err)
		}
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate from version %d to %d: %w", have, want, err)
	}
	return d.seed(ctx)
}

// identify refuses a file that another program made, without opening it: the
// head of an SQLite file tells (SQLite, Database File Format, 1.3).
func identify(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, 72)
	if _, err := io.ReadFull(file, head); err != nil ||
		string(head[:16]) != "SQLite format 3\x00" || binary.BigEndian.Uint32(head[68:]) != applicationID {
		return errors.New("is not a govsvc data file; give another path with --db")
	}
	return nil
}

// copyBefore keeps the file as it is under a name that tells its version.
func (d *DB) copyBefore(ctx context.Context, version int64) error {
	name := fmt.Sprintf("%s.v%d-%s", d.path, version, d.Now().Format("20060102T150405Z"))
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	_, err = d.door.conn.ExecContext(ctx, "VACUUM INTO ?", name)
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// seed gives a new file its secrets and its one organisation.
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
