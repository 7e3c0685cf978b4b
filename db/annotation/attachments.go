package annotation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/db/audit"
)

// Bounds of attachments. Sizes are in bytes.
const (
	MaxAttachment  = 32 << 20  // one file
	MaxAttached    = 128 << 20 // all files of a record
	MaxAttachments = 100       // of a record
	maxName        = 200       // characters
)

// Attachment is a file that is attached to a record.
type Attachment struct {
	ID, Name   string
	Size       int64
	SHA256     string // in lower-case hex
	Author, At string

	upload int64
}

const attachments = `SELECT id, name, size, sha256, author, created_at, upload_seq FROM attachments
	WHERE org_id = ? AND record_type = ? AND record_id = ?`

func scanAttachment(row db.Scanner) (a Attachment, err error) {
	err = row.Scan(&a.ID, &a.Name, &a.Size, &a.SHA256, &a.Author, &a.At, &a.upload)
	return a, err
}

// Attachments returns the files of a record, oldest first.
func (s *Service) Attachments(ctx context.Context, org db.Org, of Subject) (all []Attachment, err error) {
	err = s.store.Each(ctx, func(row db.Scanner) error {
		a, err := scanAttachment(row)
		all = append(all, a)
		return err
	}, attachments+" ORDER BY seq", org, of.Type, of.ID)
	return all, err
}

// Attachment returns a file of a record; NotFound if there is none.
func (s *Service) Attachment(ctx context.Context, org db.Org, of Subject, id string) (Attachment, error) {
	a, err := scanAttachment(s.store.Row(ctx, attachments+" AND id = ?", org, of.Type, of.ID, id))
	return a, missingAttachment(err)
}

func missingAttachment(err error) error {
	none, err := db.Absent(err)
	if none {
		return &db.Error{Code: db.NotFound, Message: "no attachment with this id on this record"}
	}
	return db.StoreError(err)
}

// Attach stores a file of a record, in pieces, with the SHA-256 of its content.
func (s *Service) Attach(ctx context.Context, by db.Actor, of Subject, name string, content io.Reader) error {
	name = strings.TrimSpace(name)
	if name == "" || utf8.RuneCountInString(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return invalidFile("the name of a file has 1 to %d characters, without control characters", maxName)
	}
	hash := sha256.New()
	write := func(w io.Writer) error {
		n, err := io.Copy(io.MultiWriter(w, hash), io.LimitReader(content, MaxAttachment+1))
		switch {
		case err != nil:
			return err
		case n > MaxAttachment:
			return invalidFile("%s is larger than %d MB", name, MaxAttachment>>20)
		case n == 0:
			return invalidFile("%s is empty", name)
		}
		return nil
	}
	return s.store.StoreFile(ctx, by, write, func(tx *db.Tx, file db.Upload) error {
		if err := of.room(tx, file.Size); err != nil {
			return err
		}
		id, sum := tx.NewID(), hex.EncodeToString(hash.Sum(nil))
		_, err := tx.Insert(`INSERT INTO attachments (org_id, id, record_type, record_id, name, size, sha256, author, created_at, upload_seq)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, tx.Org, id, of.Type, of.ID, name, file.Size, sum, tx.ID, tx.At(), file.Seq)
		if err != nil {
			return db.StoreError(err)
		}
		return of.audit(tx, "attachment.created", audit.Metadata{
			"attachment_id": id, "size": file.Size, "sha256": sum, "changes": audit.Changes{"attachment": {To: name}},
		})
	})
}

// room refuses a file that the record has no room for.
func (of Subject) room(tx *db.Tx, size int64) error {
	if err := of.exists(tx); err != nil {
		return err
	}
	var files int
	var bytes int64
	err := tx.Row("SELECT count(*), coalesce(sum(size), 0) FROM attachments WHERE org_id = ? AND record_type = ? AND record_id = ?",
		tx.Org, of.Type, of.ID).Scan(&files, &bytes)
	switch {
	case err != nil:
		return db.StoreError(err)
	case files >= MaxAttachments:
		return invalidFile("the record already has %d attachments, which is the most", files)
	case bytes+size > MaxAttached:
		return invalidFile("the attachments of a record have at most %d MB in total", MaxAttached>>20)
	}
	return nil
}

func invalidFile(format string, args ...any) error {
	return &db.Error{Code: db.Invalid, Param: "file", Message: fmt.Sprintf(format, args...)}
}

// errDamaged is the error of a file whose content is no longer that of its hash.
var errDamaged = errors.New("the stored attachment does not have its SHA-256")

// Read writes the content of an attachment to w, and then compares its SHA-256.
func (s *Service) Read(ctx context.Context, a Attachment, w io.Writer) error {
	hash := sha256.New()
	err := s.store.ReadFile(ctx, db.Upload{Seq: a.upload, Size: a.Size}, io.MultiWriter(w, hash))
	if err == nil && hex.EncodeToString(hash.Sum(nil)) != a.SHA256 {
		err = errDamaged
	}
	return err
}

// RemoveAttachment removes a file of a record. The audit log keeps its name, its size and
// its SHA-256.
func (s *Service) RemoveAttachment(ctx context.Context, by db.Actor, of Subject, id string) error {
	var removed Attachment
	err := s.store.Write(ctx, by, func(tx *db.Tx) (err error) {
		if removed, err = scanAttachment(tx.Row(attachments+" AND id = ?", tx.Org, of.Type, of.ID, id)); err != nil {
			return missingAttachment(err)
		}
		if _, err := tx.Exec("DELETE FROM attachments WHERE org_id = ? AND id = ?", tx.Org, id); err != nil {
			return err
		}
		return of.audit(tx, "attachment.removed", audit.Metadata{
			"attachment_id": id, "size": removed.Size, "sha256": removed.SHA256, "changes": audit.Changes{"attachment": {From: removed.Name}},
		})
	})
	if err != nil {
		return err
	}
	// SweepUploads removes the pieces if this fails.
	_ = s.store.RemoveFile(context.WithoutCancel(ctx), removed.upload)
	return nil
}
