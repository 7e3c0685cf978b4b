package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"govsvc/db/sqlite"
)

// Bounds of storing a pack.
const (
	// evidencePiece is the size in bytes of the pieces that an archive is stored
	// in, each in a transaction of its own.
	evidencePiece = 1 << 20
	// evidenceWait bounds how long a piece waits for its transaction while other
	// writers keep the file busy.
	evidenceWait = time.Minute
	// evidenceRest bounds the rest after a piece, which is as long as the piece
	// took.
	evidenceRest = 20 * time.Millisecond
	// evidenceAbandoned is how long an upload may store nothing before
	// SweepEvidence removes it.
	evidenceAbandoned = 10 * time.Minute
	// piecesRemoved bounds the pieces that one transaction removes.
	piecesRemoved = 8
)

// packData is what the event of a filed pack contains.
type packData struct {
	PackID         string `json:"pack_id"`
	Title          string `json:"title"`
	ItemCount      int    `json:"item_count"`
	ManifestSHA256 string `json:"manifest_sha256"`
	FiledAt        string `json:"filed_at"`
}

// File stores the zip that archive writes, files the pack with its
// canonical manifest and raises evidence.pack_filed. It completes the pack with
// the manifest's hash and the size. The zip is stored in pieces, between which
// other writers have their turn. Nobody sees the pack before its last
// transaction, which stores the pack, its audit event and its event.
func (e Evidence) File(ctx context.Context, by Actor, pack *EvidencePack, manifest []byte, archive func(io.Writer) error) error {
	sum := sha256.Sum256(manifest)
	pack.ManifestSHA256 = hex.EncodeToString(sum[:])
	upload := &evidenceUpload{ctx: ctx, db: e.db}
	err := upload.begin()
	if err == nil {
		err = archive(upload)
	}
	if err == nil {
		err = upload.flush()
	}
	if err == nil {
		pack.Size = upload.size
		err = upload.retry(func() error {
			return e.db.Write(ctx, by, func(tx *Tx) error { return publishEvidence(tx, pack, string(manifest), upload) })
		})
	}
	if err != nil && upload.seq != 0 {
		// SweepEvidence removes what this does not
		err = errors.Join(err, e.removeUpload(context.WithoutCancel(ctx), upload.seq))
	}
	return err
}

// publishEvidence files a pack whose zip is stored.
func publishEvidence(tx *Tx, pack *EvidencePack, manifest string, upload *evidenceUpload) error {
	var pieces int
	var size int64
	err := tx.Row("SELECT count(*), coalesce(sum(length(bytes)), 0) FROM evidence_pieces WHERE upload_seq = ?", upload.seq).Scan(&pieces, &size)
	if err != nil {
		return storeError(err)
	}
	if pieces != upload.number || size != upload.size {
		return unavailable(errors.New("the pieces of the pack were removed before it was filed"))
	}
	_, err = tx.Insert(`INSERT INTO evidence_packs
		(org_id, id, title, regime_id, item_count, manifest, manifest_sha256, filed_at, filed_by, upload_seq, size)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		tx.Org, pack.ID, pack.Title, pack.RegimeID, pack.ItemCount, manifest, pack.ManifestSHA256, pack.FiledAt, pack.FiledBy, upload.seq, size)
	if err != nil {
		return storeError(err)
	}
	err = tx.Audit(AuditEvent{
		Action: "evidence_pack.filed", Category: DataChange, Severity: SeverityWrite, ResourceType: "evidence_pack", ResourceID: pack.ID,
		Metadata: Metadata{"title": pack.Title, "regime_id": pack.RegimeID, "item_count": pack.ItemCount, "manifest_sha256": pack.ManifestSHA256},
	})
	if err != nil {
		return err
	}
	return tx.Enqueue(EventEvidencePackFiled, packData{pack.ID, pack.Title, pack.ItemCount, pack.ManifestSHA256, pack.FiledAt})
}

// evidenceUpload stores what is written to it in pieces.
type evidenceUpload struct {
	ctx    context.Context
	db     *DB
	seq    int64
	number int
	size   int64
	held   bytes.Buffer
}

func (u *evidenceUpload) begin() error {
	return u.retry(func() error {
		return u.db.Maintain(u.ctx, func(tx *Tx) (err error) {
			u.seq, err = tx.Insert("INSERT INTO evidence_uploads (written_at) VALUES (?)", tx.At())
			return storeError(err)
		})
	})
}

func (u *evidenceUpload) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), evidencePiece-u.held.Len())
		u.held.Write(rest[:n])
		if rest = rest[n:]; u.held.Len() == evidencePiece {
			if err := u.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

func (u *evidenceUpload) flush() error {
	if u.held.Len() == 0 {
		return nil
	}
	started := time.Now()
	err := u.retry(func() error {
		return u.db.Maintain(u.ctx, func(tx *Tx) error {
			if _, err := tx.Exec("UPDATE evidence_uploads SET written_at = ? WHERE seq = ?", tx.At(), u.seq); err != nil {
				return err
			}
			_, err := tx.Exec("INSERT INTO evidence_pieces (upload_seq, number, bytes) VALUES (?, ?, ?)", u.seq, u.number, u.held.Bytes())
			return err
		})
	})
	if err != nil {
		return err
	}
	u.number++
	u.size += int64(u.held.Len())
	u.held.Reset()
	// Another process that waits for the lock looks for it now and then.
	select {
	case <-time.After(min(time.Since(started), evidenceRest)):
	case <-u.ctx.Done():
	}
	return nil
}

// retry repeats a transaction that other writers kept waiting for too long.
func (u *evidenceUpload) retry(write func() error) error {
	for until := time.Now().Add(evidenceWait); ; {
		err := write()
		if !errors.Is(err, sqlite.ErrWriterBusy) && !sqlite.IsBusy(err) || time.Now().After(until) || u.ctx.Err() != nil {
			return err
		}
	}
}

// SweepUploads removes what is left of packs that were not filed: of a process
// that was killed, for example.
func (e Evidence) SweepUploads(ctx context.Context) error {
	var left []int64
	err := e.db.Each(ctx, func(row Scanner) error {
		var seq int64
		err := row.Scan(&seq)
		left = append(left, seq)
		return err
	}, `SELECT seq FROM evidence_uploads u WHERE written_at < ?
		AND NOT EXISTS (SELECT 1 FROM evidence_packs WHERE upload_seq = u.seq)`, Timestamp(e.db.Now().Add(-evidenceAbandoned)))
	for _, seq := range left {
		if err == nil {
			err = e.removeUpload(ctx, seq)
		}
	}
	return err
}

// removeUpload removes the pieces of a pack that is not filed, a few in each
// transaction, and then their upload. A filed pack stays.
func (e Evidence) removeUpload(ctx context.Context, seq int64) error {
	for {
		gone := false
		err := e.db.Maintain(ctx, func(tx *Tx) error {
			var filed bool
			if err := tx.Row("SELECT EXISTS (SELECT 1 FROM evidence_packs WHERE upload_seq = ?)", seq).Scan(&filed); err != nil || filed {
				gone = filed
				return storeError(err)
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
