package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"govsvc/db/sqlite"
)

// Backup is a copy of the data file, made while the file was in use, and
// checked.
type Backup struct {
	Path    string     `json:"path"`
	At      string     `json:"at"` // what was committed before it is inside
	Bytes   int64      `json:"bytes"`
	Version int        `json:"version"` // of the tables
	Logs    []AuditLog `json:"audit_logs"`
}

// AuditLog is how far an organisation's audit log goes in a file.
type AuditLog struct {
	Org    Org    `json:"-"`
	Name   string `json:"org"`
	Events int    `json:"events"`
	Head   string `json:"head"` // the hash of the last event
}

// Backup copies the file to a path, whatever is read and written meanwhile: all
// that was committed before the call is inside, and nothing by halves. The copy
// is checked before it gets its name, is on disk when the call returns, and is
// its owner's alone, for it holds what the file holds. A file that is there
// already is refused, or replaced at the end.
func (d *DB) Backup(ctx context.Context, path string, replace bool) (Backup, error) {
	path, err := filepath.Abs(path) // a link there is replaced, not what it leads to
	if err != nil {
		return Backup{}, err
	}
	if err := d.mayBackUpTo(path, replace); err != nil {
		return Backup{}, err
	}
	made := Backup{Path: path, At: Timestamp(d.Now())}
	heads, err := d.heads(ctx)
	if err != nil {
		return Backup{}, ofDamage(err)
	}
	err = sqlite.WithPartial(path, func(partial string) error {
		if err := d.engine.CopyTo(ctx, partial); err != nil {
			return err
		}
		found, err := examine(ctx, partial, heads)
		if err != nil {
			return fmt.Errorf("the copy was not sound, and was removed: %w; `govsvc check --full` looks at the data file itself", err)
		}
		made.Bytes, made.Version, made.Logs = found.bytes, found.version, found.logs
		return sqlite.Publish(partial, path, replace)
	})
	return made, ofDamage(err)
}

// ofDamage says what to do about a data file that can't be read to its end.
func ofDamage(err error) error {
	if !sqlite.IsCorrupt(err) {
		return err
	}
	return fmt.Errorf("the data file %w, and no copy was made: %w; `govsvc check --full` tells where, `govsvc restore` puts back an earlier backup", errDamaged, err)
}

func (d *DB) mayBackUpTo(path string, replace bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder; name a file in it", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no ordinary file; name another one", path)
	}
	if d.Owns(info) {
		return fmt.Errorf("%s is the data file in use; name another one", path)
	}
	if !replace {
		return sqlite.Exists(path)
	}
	return nil
}

// heads are the hashes that the audit logs end with now.
func (d *DB) heads(ctx context.Context) (map[Org]string, error) {
	heads := map[Org]string{}
	err := d.Each(ctx, func(row Scanner) error {
		var org Org
		var head string
		err := row.Scan(&org, &head)
		heads[org] = head
		return err
	}, `SELECT o.seq, lower(hex((SELECT hash FROM audit_events e WHERE e.org_id = o.seq ORDER BY seq DESC LIMIT 1))) FROM organisations o`)
	return heads, err
}

// LastBackup is what became of the last attempts at a backup.
type LastBackup struct {
	Made   *BackupNote // the last that was made; nil: none is known
	Failed *BackupNote // the last that failed, if none was made since
}

// BackupNote is what the file remembers of a backup.
type BackupNote struct {
	At    string // a timestamp
	Path  string
	Bytes int64
	Error string // why it failed
}

// LastBackup tells what the file remembers of its backups.
func (d *DB) LastBackup(ctx context.Context) (LastBackup, error) {
	var last LastBackup
	err := d.Each(ctx, func(row Scanner) error {
		var outcome string
		var note BackupNote
		err := row.Scan(&outcome, &note.At, &note.Path, &note.Bytes, &note.Error)
		if outcome == backupMade {
			last.Made = &note
		} else {
			last.Failed = &note
		}
		return err
	}, "SELECT outcome, at, path, bytes, error FROM backups")
	return last, err
}

const (
	backupMade   = "made"
	backupFailed = "failed"
)

// NoteBackup remembers a backup, and tells every organisation's audit log: who
// has the copy has all that the file held.
func (d *DB) NoteBackup(ctx context.Context, by Actor, made Backup) error {
	return d.Write(ctx, by, func(tx *Tx) error {
		if err := tx.noteBackup(backupMade, BackupNote{At: made.At, Path: made.Path, Bytes: made.Bytes}); err != nil {
			return err
		}
		return tx.auditAll(func(org Org) AuditEvent {
			metadata := Metadata{"file": filepath.Base(made.Path)}
			for _, log := range made.Logs {
				if log.Org == org {
					metadata["events"], metadata["head"] = log.Events, log.Head
				}
			}
			return AuditEvent{Action: "file.backed_up", Category: Export, Severity: SeverityRead, Metadata: metadata}
		})
	})
}

// noteFailedBackup remembers why a backup was not made.
func (d *DB) noteFailedBackup(ctx context.Context, path string, cause error) error {
	return d.Maintain(ctx, func(tx *Tx) error {
		return tx.noteBackup(backupFailed, BackupNote{At: tx.At(), Path: path, Error: cause.Error()})
	})
}

func (tx *Tx) noteBackup(outcome string, n BackupNote) error {
	if outcome == backupMade { // what failed before it is over; times can't tell, for clocks are set
		if _, err := tx.Exec("DELETE FROM backups WHERE outcome = ?", backupFailed); err != nil {
			return err
		}
	}
	_, err := tx.Exec(`INSERT INTO backups (outcome, at, path, bytes, error) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (outcome) DO UPDATE SET at = ?2, path = ?3, bytes = ?4, error = ?5`, outcome, n.At, n.Path, n.Bytes, n.Error)
	return err
}

// auditAll tells the audit log of every organisation.
func (tx *Tx) auditAll(event func(Org) AuditEvent) error {
	var orgs []Org
	err := tx.Each(func(row Scanner) error {
		var org Org
		err := row.Scan(&org)
		orgs = append(orgs, org)
		return err
	}, "SELECT seq FROM organisations WHERE removed_at IS NULL ORDER BY seq")
	for _, org := range orgs {
		if err != nil {
			break
		}
		tx.Org = org
		err = tx.Audit(event(org))
	}
	return err
}
