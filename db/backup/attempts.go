package backup

import (
	"context"
	"path/filepath"

	"govsvc/db"
	"govsvc/db/audit"
)

// Attempts are the last attempts to make a backup.
type Attempts struct {
	Made   *Attempt // the last that succeeded; nil if none is known
	Failed *Attempt // the last that failed; nil if one has succeeded since
}

// Attempt is an attempt to make a backup, as the data file records it.
type Attempt struct {
	At    string // a timestamp
	Path  string
	Bytes int64
	Error string // why it failed
}

// The outcomes of an attempt, as stored.
const (
	outcomeMade   = "made"
	outcomeFailed = "failed"
)

// Last returns the recorded attempts.
func (s *Service) Last(ctx context.Context) (Attempts, error) {
	var last Attempts
	err := s.store.Each(ctx, func(row db.Scanner) error {
		var outcome string
		var a Attempt
		err := row.Scan(&outcome, &a.At, &a.Path, &a.Bytes, &a.Error)
		if outcome == outcomeMade {
			last.Made = &a
		} else {
			last.Failed = &a
		}
		return err
	}, "SELECT outcome, at, path, bytes, error FROM backups")
	return last, err
}

// Record records a backup in the data file and in every organisation's audit log,
// because its owner has everything that the file had.
func (s *Service) Record(ctx context.Context, by db.Actor, made Backup) error {
	return s.store.Write(ctx, by, func(tx *db.Tx) error {
		if err := recordAttempt(tx, outcomeMade, Attempt{At: made.At, Path: made.Path, Bytes: made.Bytes}); err != nil {
			return err
		}
		return auditAll(tx, func(org db.Org) audit.Event {
			metadata := audit.Metadata{"file": filepath.Base(made.Path)}
			for _, log := range made.Logs {
				if log.Org == org {
					metadata["events"], metadata["head"] = log.Events, log.Head
				}
			}
			return audit.Event{Action: "file.backed_up", Category: audit.Export, Severity: audit.SeverityRead, Metadata: metadata}
		})
	})
}

// recordFailure records why a backup was not made.
func (s *Service) recordFailure(ctx context.Context, path string, cause error) error {
	return s.store.Maintain(ctx, func(tx *db.Tx) error {
		return recordAttempt(tx, outcomeFailed, Attempt{At: tx.At(), Path: path, Error: cause.Error()})
	})
}

func recordAttempt(tx *db.Tx, outcome string, a Attempt) error {
	if outcome == outcomeMade { // ends an earlier failure, whose time can be later after a change of the clock
		if _, err := tx.Exec("DELETE FROM backups WHERE outcome = ?", outcomeFailed); err != nil {
			return err
		}
	}
	_, err := tx.Exec(`INSERT INTO backups (outcome, at, path, bytes, error) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (outcome) DO UPDATE SET at = ?2, path = ?3, bytes = ?4, error = ?5`, outcome, a.At, a.Path, a.Bytes, a.Error)
	return err
}

// auditAll adds an event to the audit log of every organisation.
func auditAll(tx *db.Tx, event func(db.Org) audit.Event) error {
	var orgs []db.Org
	err := tx.Each(func(row db.Scanner) error {
		var org db.Org
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
