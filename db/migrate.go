package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"

	"govsvc/db/sqlite"
	"govsvc/migrations"
)

// migrationWait is a factor. A migration waits this many times as long as a write for
// other writers, because another process may be copying and migrating a large file.
const migrationWait = 60

// migration migrates a file of a store.
type migration struct {
	db   *DB
	file *sqlite.DB
}

// run migrates the file to the version of this program, in one transaction. If several
// processes open the file at once, one of them migrates it. A process that is killed
// during the migration leaves the file unchanged.
func (m migration) run(ctx context.Context) error {
	for until := time.Now().Add(migrationWait * m.db.options.Wait); ; {
		have, want, err := checkVersion(ctx, m.file)
		if err != nil || have == want {
			return err
		}
		if err = m.upgrade(ctx); !sqlite.IsBusy(err) {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("has version %d and must be migrated to version %d, but another process keeps writing to it (%w); stop that process, and try again", have, want, err)
		}
	}
}

// upgrade checks the version again and migrates the file, under the write lock.
func (m migration) upgrade(ctx context.Context) error {
	return m.file.SingleTx(ctx, func(pool *sql.DB) error {
		have, want, err := checkVersion(ctx, m.file)
		if err != nil || have == want { // another process was faster
			return err
		}
		if have == 0 || m.db.options.IsCopy {
			return m.up(ctx, pool, have, want)
		}
		return m.copyBefore(ctx, have, func() error { return m.up(ctx, pool, have, want) })
	})
}

// up runs the migrations, and fills a new file.
func (m migration) up(ctx context.Context, pool *sql.DB, have, want int) error {
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
	return m.seed(ctx, pool)
}

// copyBefore copies the file and then runs change. It keeps the copy only if change
// succeeds, under a name with the version of the file. Package backup can restore it.
func (m migration) copyBefore(ctx context.Context, version int, change func() error) error {
	path := sqlite.UnusedPath(fmt.Sprintf("%s.v%d-%s", m.file.Path(), version, m.db.Now().Format(FileTime)))
	return sqlite.WithPartial(path, func(partial string) error {
		if err := m.file.CopyTo(ctx, partial); err != nil {
			return fmt.Errorf("copy before the migration: %w", err)
		}
		if err := change(); err != nil {
			return err
		}
		return sqlite.Publish(partial, path, false)
	})
}

// seed inserts the secrets and the default organisation into a new file.
func (m migration) seed(ctx context.Context, pool *sql.DB) error {
	for _, name := range []string{"cursor", "key_tag"} {
		secret, err := m.db.RandomBytes(32)
		if err != nil {
			return err
		}
		if _, err := pool.ExecContext(ctx, "INSERT INTO secrets (name, value) VALUES (?, ?)", name, secret); err != nil {
			return err
		}
	}
	at := Timestamp(m.db.Now())
	_, err := pool.ExecContext(ctx, "INSERT INTO organisations (id, name, plan, subscription, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
		m.db.newID(), DefaultOrganisation, Enterprise, Active, at, at)
	return err
}

// secrets are the keys of the HMACs in cursors and in API keys.
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

// Version returns the version of the file's tables, or 0 if there are none yet.
func (f File) Version(ctx context.Context) (int, error) {
	version, err := version(ctx, f.db.engine)
	return version, StoreError(err)
}

func version(ctx context.Context, file *sqlite.DB) (int, error) {
	var made bool
	if err := file.Lookups.Row(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'goose_db_version')").Scan(&made); err != nil || !made {
		return 0, err
	}
	var version int
	err := file.Lookups.Row(ctx, "SELECT max(version_id) FROM goose_db_version WHERE is_applied").Scan(&version)
	return version, err
}

// Versions returns the versions of the file's tables and of this program.
func (f File) Versions(ctx context.Context) (have, want int, err error) {
	have, want, err = versions(ctx, f.db.engine)
	return have, want, StoreError(err)
}

func versions(ctx context.Context, file *sqlite.DB) (have, want int, err error) {
	names, err := migrations.Files.ReadDir(".")
	if err != nil {
		return 0, 0, err
	}
	for _, name := range names {
		number, err := goose.NumericComponent(name.Name())
		if err != nil {
			return 0, 0, err
		}
		want = max(want, int(number))
	}
	have, err = version(ctx, file)
	return have, want, err
}

// KnownVersion returns the version of the file's tables. It returns an error for a file
// of a newer program, which this program can't read.
func (f File) KnownVersion(ctx context.Context) (int, error) {
	have, _, err := checkVersion(ctx, f.db.engine)
	return have, StoreError(err)
}

// checkVersion returns the versions of the file and of this program, and an error for a
// file of a newer program.
func checkVersion(ctx context.Context, file *sqlite.DB) (have, want int, err error) {
	have, want, err = versions(ctx, file)
	if err == nil && have > want {
		err = newerFile(have, want)
	}
	return have, want, err
}

func newerFile(have, want int) error {
	return fmt.Errorf("it was made by a newer govsvc (its version is %d, this program knows up to %d); "+
		"use the newer program, or restore a backup made before the upgrade", have, want)
}
