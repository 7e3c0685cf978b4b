package annotation

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/db/audit"
)

// Bounds of comments.
const (
	// MaxComment is the most characters of a comment.
	MaxComment = 20_000
	// MaxComments is the most comments of a record.
	MaxComments = 1000
	// CommentsOnPage is how many comments Comments returns.
	CommentsOnPage = 50
)

// Comment is what a person said about a record.
type Comment struct {
	ID, Text, Author, At string
	// Number orders the comments of a file.
	Number int64
}

// Comments returns the last comments before a number, oldest first, and whether there are
// earlier ones. The number 0 is the end.
func (s *Service) Comments(ctx context.Context, org db.Org, of Subject, before int64) (all []Comment, more bool, err error) {
	err = s.store.Each(ctx, func(row db.Scanner) error {
		var c Comment
		err := row.Scan(&c.Number, &c.ID, &c.Text, &c.Author, &c.At)
		all = append([]Comment{c}, all...)
		return err
	}, `SELECT seq, id, text, author, created_at FROM comments
		WHERE org_id = ?1 AND record_type = ?2 AND record_id = ?3 AND (?4 = 0 OR seq < ?4) ORDER BY seq DESC LIMIT ?5`,
		org, of.Type, of.ID, before, CommentsOnPage+1)
	if more = len(all) > CommentsOnPage; more {
		all = all[1:]
	}
	return all, more, err
}

// CountComments returns how many comments a record has.
func (s *Service) CountComments(ctx context.Context, org db.Org, of Subject) (n int, err error) {
	err = s.store.Row(ctx, countComments, org, of.Type, of.ID).Scan(&n)
	return n, db.StoreError(err)
}

const countComments = "SELECT count(*) FROM comments WHERE org_id = ? AND record_type = ? AND record_id = ?"

// AddComment adds a comment of by.
func (s *Service) AddComment(ctx context.Context, by db.Actor, of Subject, text string) error {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	switch {
	case text == "":
		return &db.Error{Code: db.Invalid, Param: "text", Message: "enter a comment"}
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return &db.Error{Code: db.Invalid, Param: "text", Message: "a comment is text without NUL characters"}
	case utf8.RuneCountInString(text) > MaxComment:
		return &db.Error{Code: db.Invalid, Param: "text", Message: "a comment has at most 20,000 characters"}
	}
	return s.store.Write(ctx, by, func(tx *db.Tx) error {
		if err := of.exists(tx); err != nil {
			return err
		}
		var n int
		if err := tx.Row(countComments, tx.Org, of.Type, of.ID).Scan(&n); err != nil {
			return db.StoreError(err)
		}
		if n >= MaxComments {
			return &db.Error{Code: db.Conflict, Param: "text", Message: fmt.Sprintf("the record already has %d comments, which is the most", n)}
		}
		id := tx.NewID()
		_, err := tx.Insert("INSERT INTO comments (org_id, id, record_type, record_id, text, author, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			tx.Org, id, of.Type, of.ID, text, tx.ID, tx.At())
		if err != nil {
			return db.StoreError(err)
		}
		return of.audit(tx, "comment.created", audit.Metadata{"comment_id": id, "changes": audit.Changes{"comment": {To: text}}})
	})
}

// RemoveComment removes a comment. Only its author may do that or, with anyAuthor, by. The
// audit log keeps the text, or the length and the hash of one over 2 KB.
func (s *Service) RemoveComment(ctx context.Context, by db.Actor, of Subject, id string, anyAuthor bool) error {
	return s.store.Write(ctx, by, func(tx *db.Tx) error {
		var seq int64
		var text, author string
		err := tx.Row("SELECT seq, text, author FROM comments WHERE org_id = ? AND record_type = ? AND record_id = ? AND id = ?",
			tx.Org, of.Type, of.ID, id).Scan(&seq, &text, &author)
		if none, err := db.Absent(err); err != nil {
			return db.StoreError(err)
		} else if none || author != tx.ID && !anyAuthor {
			return &db.Error{Code: db.NotFound, Message: "no comment of yours with this id on this record"}
		}
		if _, err := tx.Exec("DELETE FROM comments WHERE seq = ?", seq); err != nil {
			return err
		}
		return of.audit(tx, "comment.removed", audit.Metadata{"comment_id": id, "author": author, "changes": audit.Changes{"comment": {From: text}}})
	})
}
