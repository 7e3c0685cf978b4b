// Package backup copies a data file while it is in use, restores a copy, and checks
// files. It uses the store of package db.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"govsvc/db"
	"govsvc/db/sqlite"
)

// Service makes backups of one store and checks its file.
type Service struct{ store *db.DB }

// New returns the service for a store.
func New(store *db.DB) *Service { return &Service{store} }

// Backup is a checked copy of the data file.
type Backup struct {
	Path    string     `json:"path"`
	At      string     `json:"at"` // what was committed before it is in the copy
	Bytes   int64      `json:"bytes"`
	Version int        `json:"version"` // of the tables
	Logs    []AuditLog `json:"audit_logs"`
}

// AuditLog is how far an organisation's audit log goes in a file.
type AuditLog struct {
	Org    db.Org `json:"-"`
	Name   string `json:"org"`
	Events int    `json:"events"`
	Head   string `json:"head"` // the hash of the last event
}

// Make copies the data file to a path while others read and write it. The copy has
// everything that was committed before the call, and no transaction in part. It is
// checked before it gets its name, is on disk when Make returns, and can be read and
// written by its owner only. A file that has the name is refused or, with replace,
// replaced at the end.
func (s *Service) Make(ctx context.Context, path string, replace bool) (Backup, error) {
	path, err := filepath.Abs(path) // a link there is replaced, not its target
	if err != nil {
		return Backup{}, err
	}
	if err := s.checkTarget(path, replace); err != nil {
		return Backup{}, err
	}
	made := Backup{Path: path, At: db.Timestamp(s.store.Now())}
	heads, err := s.heads(ctx)
	if err != nil {
		return Backup{}, explainDamage(err)
	}
	err = sqlite.WithPartial(path, func(partial string) error {
		if err := s.store.Engine().CopyTo(ctx, partial); err != nil {
			return err
		}
		found, err := examineFile(ctx, partial, heads)
		if err != nil {
			return fmt.Errorf("the copy was damaged, and was removed: %w; check the data file with `govsvc check --full`", err)
		}
		made.Bytes, made.Version, made.Logs = found.bytes, found.version, found.logs
		return sqlite.Publish(partial, path, replace)
	})
	return made, explainDamage(err)
}

// explainDamage says what to do about a data file that cannot be read to its end.
func explainDamage(err error) error {
	if !sqlite.IsCorrupt(err) {
		return err
	}
	return fmt.Errorf("the data file %w, and no copy was made: %w; find the damage with `govsvc check --full`, or restore an earlier backup with `govsvc restore`", db.ErrDamaged, err)
}

// checkTarget refuses a path that Make must not write to.
func (s *Service) checkTarget(path string, replace bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder; name a file in it", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; name another one", path)
	}
	if s.store.File.Owns(info) {
		return fmt.Errorf("%s is the data file in use; name another one", path)
	}
	if !replace {
		return sqlite.Exists(path)
	}
	return nil
}

// heads returns the hashes of the last events of the audit logs.
func (s *Service) heads(ctx context.Context) (map[db.Org]string, error) {
	heads := map[db.Org]string{}
	err := s.store.Each(ctx, func(row db.Scanner) error {
		var org db.Org
		var head string
		err := row.Scan(&org, &head)
		heads[org] = head
		return err
	}, `SELECT o.seq, lower(hex((SELECT hash FROM audit_events e WHERE e.org_id = o.seq ORDER BY seq DESC LIMIT 1))) FROM organisations o`)
	return heads, err
}
