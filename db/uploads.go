package db

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"govsvc/db/sqlite"
)

// Bounds of uploads.
const (
	// pieceSize is the size in bytes of the pieces of a file. Each piece is stored in
	// a separate transaction.
	pieceSize = 1 << 20
	// pieceWait bounds how long a piece waits for its transaction while other writers
	// keep the file busy.
	pieceWait = time.Minute
	// pauseLimit bounds the pause after a piece, which is as long as its transaction.
	pauseLimit = 20 * time.Millisecond
	// abandonedAfter is how long an upload may store nothing before SweepUploads removes
	// it.
	abandonedAfter = 10 * time.Minute
	// piecesRemoved bounds the pieces that one transaction removes.
	piecesRemoved = 8
)

// Upload is a file that is stored in pieces.
type Upload struct {
	Seq  int64 // for the column upload_seq of the row that owns the pieces
	Size int64 // in bytes
}

// StoreFile stores the file that content writes, in pieces, so that other writers can
// write between them. Then publish stores the row that owns the pieces, in the same
// transaction as the check that all of them are stored. Without that row the file is not
// visible, and is removed.
func (d *DB) StoreFile(ctx context.Context, by Actor, content func(io.Writer) error, publish func(*Tx, Upload) error) error {
	u := &upload{ctx: ctx, db: d}
	err := u.begin()
	if err == nil {
		err = content(u)
	}
	if err == nil {
		err = u.flush()
	}
	if err == nil {
		err = u.retry(func() error {
			return d.Write(ctx, by, func(tx *Tx) error {
				if err := u.check(tx); err != nil {
					return err
				}
				return publish(tx, Upload{u.seq, u.size})
			})
		})
	}
	if err != nil && u.seq != 0 {
		// SweepUploads removes the upload if this fails.
		err = errors.Join(err, d.RemoveFile(context.WithoutCancel(ctx), u.seq))
	}
	return err
}

// selectPiece reads a piece of an upload by its number.
const selectPiece = "SELECT bytes FROM evidence_pieces WHERE upload_seq = ? AND number = ?"

// ReadFile writes a stored file to w. It reads one piece at a time, and holds no
// connection while it writes to w.
func (d *DB) ReadFile(ctx context.Context, file Upload, w io.Writer) error {
	return d.writePieces(ctx, selectPiece, file.Seq, file.Size, w)
}

func (d *DB) writePieces(ctx context.Context, query string, from, size int64, w io.Writer) error {
	written := int64(0)
	for number := 0; written < size; number++ {
		var piece []byte
		if err := d.engine.Bulk.Row(ctx, query, from, number).Scan(&piece); err != nil {
			return StoreError(err)
		}
		n, err := w.Write(piece)
		if err != nil {
			return err
		}
		written += int64(n)
	}
	return nil
}

// upload is a writer that stores a file in pieces.
type upload struct {
	ctx    context.Context
	db     *DB
	seq    int64
	number int
	size   int64
	buffer bytes.Buffer
}

func (u *upload) begin() error {
	return u.retry(func() error {
		return u.db.Maintain(u.ctx, func(tx *Tx) (err error) {
			u.seq, err = tx.Insert("INSERT INTO evidence_uploads (written_at) VALUES (?)", tx.At())
			return StoreError(err)
		})
	})
}

// check refuses a file whose pieces were removed before it was published.
func (u *upload) check(tx *Tx) error {
	var pieces int
	var size int64
	err := tx.Row("SELECT count(*), coalesce(sum(length(bytes)), 0) FROM evidence_pieces WHERE upload_seq = ?", u.seq).Scan(&pieces, &size)
	if err != nil {
		return StoreError(err)
	}
	if pieces != u.number || size != u.size {
		return unavailable(errors.New("the pieces of the file were removed before it was complete"))
	}
	return nil
}

func (u *upload) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), pieceSize-u.buffer.Len())
		u.buffer.Write(rest[:n])
		if rest = rest[n:]; u.buffer.Len() == pieceSize {
			if err := u.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

func (u *upload) flush() error {
	if u.buffer.Len() == 0 {
		return nil
	}
	started := time.Now()
	err := u.retry(func() error {
		return u.db.Maintain(u.ctx, func(tx *Tx) error {
			if _, err := tx.Exec("UPDATE evidence_uploads SET written_at = ? WHERE seq = ?", tx.At(), u.seq); err != nil {
				return err
			}
			_, err := tx.Exec("INSERT INTO evidence_pieces (upload_seq, number, bytes) VALUES (?, ?, ?)", u.seq, u.number, u.buffer.Bytes())
			return err
		})
	})
	if err != nil {
		return err
	}
	u.number++
	u.size += int64(u.buffer.Len())
	u.buffer.Reset()
	// Another process that waits for the lock polls it.
	select {
	case <-time.After(min(time.Since(started), pauseLimit)):
	case <-u.ctx.Done():
	}
	return nil
}

// retry repeats a transaction that timed out while other writers kept the file busy.
func (u *upload) retry(write func() error) error {
	for until := time.Now().Add(pieceWait); ; {
		err := write()
		if !errors.Is(err, sqlite.ErrWriterBusy) && !sqlite.IsBusy(err) || time.Now().After(until) || u.ctx.Err() != nil {
			return err
		}
	}
}

// hasOwner is the condition that a row owns the pieces of an upload.
func hasOwner(upload string) string {
	return "(EXISTS (SELECT 1 FROM evidence_packs WHERE upload_seq = " + upload + ") OR EXISTS (SELECT 1 FROM attachments WHERE upload_seq = " + upload + "))"
}

// SweepUploads removes files without an owner, for example of a process that was killed.
func (d *DB) SweepUploads(ctx context.Context) error {
	var left []int64
	err := d.Each(ctx, func(row Scanner) error {
		var seq int64
		err := row.Scan(&seq)
		left = append(left, seq)
		return err
	}, "SELECT seq FROM evidence_uploads u WHERE written_at < ? AND NOT "+hasOwner("u.seq"), Timestamp(d.Now().Add(-abandonedAfter)))
	for _, seq := range left {
		if err == nil {
			err = d.RemoveFile(ctx, seq)
		}
	}
	return err
}

// RemoveFile removes the pieces of an upload, a few in each transaction, and then the
// upload. It keeps those of an upload that has an owner.
func (d *DB) RemoveFile(ctx context.Context, seq int64) error {
	for {
		gone := false
		err := d.Maintain(ctx, func(tx *Tx) error {
			var owned bool
			if err := tx.Row("SELECT "+hasOwner("?1"), seq).Scan(&owned); err != nil || owned {
				gone = owned
				return StoreError(err)
			}
			removed, err := tx.Exec("DELETE FROM evidence_pieces WHERE upload_seq = ?1 AND number IN (SELECT number FROM evidence_pieces WHERE upload_seq = ?1 LIMIT ?2)",
				seq, piecesRemoved)
			if err != nil || removed > 0 {
				return err
			}
			gone = true
			_, err = tx.Exec("DELETE FROM evidence_uploads WHERE seq = ?", seq)
			return err
		})
		if err != nil || gone {
			return err
		}
	}
}
