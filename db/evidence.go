package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"govsvc/db/audit"
	"govsvc/db/sqlite"
)

// EvidencePack is a filed pack (contract, section 6).
type EvidencePack struct {
	Object         string  `json:"object"` // evidence_pack
	ID             string  `json:"id"`
	Title          string  `json:"title"`
	RegimeID       *string `json:"regime_id"` // null: of all regimes
	ItemCount      int     `json:"item_count"`
	ManifestSHA256 string  `json:"manifest_sha256"`
	Size           int64   `json:"size"` // of the zip in bytes
	FiledAt        string  `json:"filed_at"`
	FiledBy        string  `json:"filed_by"`
}

// Evidence is the service for evidence packs.
type Evidence struct{ db *DB }

// evidence lists the items of a pack in its order, each with the query of its records. ?1
// is the organisation, ?2 the regime or "".
var evidence = []struct{ item, query string }{
	{"posture", `SELECT record FROM compliance_posture_records WHERE org_id = ?1
		AND id = (SELECT id FROM compliance_postures WHERE org_id = ?1 ORDER BY version_number DESC LIMIT 1)`},
	{"obligations", `SELECT r.record FROM obligations o JOIN obligation_records r ON r.org_id = o.org_id AND r.id = o.id
		WHERE o.org_id = ?1 AND ?2 IN ('', o.regime_id) ORDER BY o.created_at, o.id`},
	{"risks", `SELECT json_set(r.record, '$.severity_evidence', json((
			SELECT json_group_array(json_object('id', e.id, 'at', e.at, 'actor', e.actor, 'reason', e.reason,
				'before', json(e.before), 'after', json(e.after)) ORDER BY e.seq)
			FROM severity_evidence e WHERE e.risk_seq = k.seq)))
		FROM risks k JOIN risk_records r ON r.org_id = k.org_id AND r.id = k.id
		WHERE k.org_id = ?1 ORDER BY k.created_at, k.id`},
	{"incidents", "SELECT record FROM incident_records WHERE org_id = ?1 ORDER BY created_at, id"},
	{"kpis", `SELECT json_set(r.record, '$.checkins', json((
			SELECT json_group_array(` + CheckinJSON + ` ORDER BY c.period_start)
			FROM kpi_checkins c WHERE c.kpi_seq = k.seq)))
		FROM kpis k JOIN kpi_records r ON r.org_id = k.org_id AND r.id = k.id
		WHERE k.org_id = ?1 ORDER BY k.created_at, k.id`},
}

// EvidenceItems returns the names of the items of a pack in its order: the current
// compliance posture, the obligations, and so on.
func EvidenceItems() []string {
	names := make([]string, len(evidence))
	for i, e := range evidence {
		names[i] = e.item
	}
	return names
}

// Evidence calls each with every record of an item, as JSON, oldest first. Risks have their
// severity_evidence, and key results have their checkins. With a regime it returns only
// the obligations of that regime. The bytes are valid during the call.
func (s *Snapshot) Evidence(ctx context.Context, org Org, item, regime string, each func([]byte) error) error {
	for _, e := range evidence {
		if e.item != item {
			continue
		}
		var record sqlite.RawBytes
		return s.Each(ctx, func(row Scanner) error {
			if err := row.Scan(&record); err != nil {
				return StoreError(err)
			}
			return each(record)
		}, e.query, org, regime)
	}
	return fmt.Errorf("no evidence is named %q", item)
}

// Regimes returns the ids of the regimes in the obligations and the current posture of an
// organisation.
func (s *Snapshot) Regimes(ctx context.Context, org Org) ([]string, error) {
	var ids []string
	err := s.Each(ctx, func(row Scanner) error {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT regime_id FROM obligations WHERE org_id = ?1
		UNION SELECT r.value ->> 'regime_id' FROM json_each((
			SELECT regimes FROM compliance_postures WHERE org_id = ?1 ORDER BY version_number DESC LIMIT 1)) r
		WHERE r.value ->> 'regime_id' IS NOT NULL
		ORDER BY 1`, org)
	return ids, err
}

// NewPack returns a pack with the id, the instant and the author, which the manifest
// contains.
func (e Evidence) NewPack(by Actor, title string) EvidencePack {
	return EvidencePack{Object: "evidence_pack", ID: e.db.newID(), Title: title, FiledAt: Timestamp(e.db.Now()), FiledBy: by.ID}
}

const evidencePacks = `SELECT seq, coalesce(upload_seq, 0), id, title, regime_id, item_count, manifest_sha256, filed_at, filed_by,
	coalesce(size, (SELECT sum(length(bytes)) FROM evidence_chunks WHERE pack_seq = seq), 0)
	FROM evidence_packs WHERE org_id = ?`

// storedPack is a pack with the place of its zip.
type storedPack struct {
	EvidencePack
	seq, upload int64 // upload is 0 in packs of earlier versions
}

func scanEvidencePack(row Scanner) (p storedPack, err error) {
	p.Object = "evidence_pack"
	err = row.Scan(&p.seq, &p.upload, &p.ID, &p.Title, &p.RegimeID, &p.ItemCount, &p.ManifestSHA256, &p.FiledAt, &p.FiledBy, &p.Size)
	return p, err
}

// List returns the packs of an organisation, newest first.
func (e Evidence) List(ctx context.Context, org Org) ([]EvidencePack, error) {
	list := []EvidencePack{}
	err := e.db.Each(ctx, func(row Scanner) error {
		pack, err := scanEvidencePack(row)
		list = append(list, pack.EvidencePack)
		return err
	}, evidencePacks+" ORDER BY filed_at DESC, id DESC", org)
	return list, err
}

// Export writes the zip of a pack to w and returns the pack. It stores the audit event
// first, so that a pack is not exported without one. It reads one piece at a time, and
// holds no connection while it writes to w.
func (e Evidence) Export(ctx context.Context, by Actor, id string, w io.Writer) (EvidencePack, error) {
	pack, err := scanEvidencePack(e.db.Row(ctx, evidencePacks+" AND id = ?", by.Org, id))
	if none, err := Absent(err); none {
		return pack.EvidencePack, &Error{Code: NotFound, Message: fmt.Sprintf("no evidence pack %s in this organisation; `govsvc evidence list` shows them", id)}
	} else if err != nil {
		return pack.EvidencePack, StoreError(err)
	}
	err = e.db.Write(ctx, by, func(tx *Tx) error {
		return tx.Audit(audit.Event{Action: "evidence_pack.exported", Category: audit.Export, Severity: audit.SeverityRead, ResourceType: "evidence_pack", ResourceID: id})
	})
	if err != nil {
		return pack.EvidencePack, err
	}
	query, from := "SELECT bytes FROM evidence_pieces WHERE upload_seq = ? AND number = ?", pack.upload
	if pack.upload == 0 {
		query, from = "SELECT bytes FROM evidence_chunks WHERE pack_seq = ? AND number = ?", pack.seq
	}
	written := int64(0)
	for number := 0; written < pack.Size; number++ {
		var chunk []byte
		if err := e.db.engine.Bulk.Row(ctx, query, from, number).Scan(&chunk); err != nil {
			return pack.EvidencePack, StoreError(err)
		}
		n, err := w.Write(chunk)
		if err != nil {
			return pack.EvidencePack, err
		}
		written += int64(n)
	}
	return pack.EvidencePack, nil
}

// Bounds of the upload of a pack.
const (
	// pieceSize is the size in bytes of the pieces of an archive. Each piece is stored in
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

// EventEvidencePackFiled is the event of evidence packs.
const EventEvidencePackFiled = "evidence.pack_filed"

func init() { declareEvents(EventEvidencePackFiled) }

// packData is the data of the event of a filed pack.
type packData struct {
	PackID         string `json:"pack_id"`
	Title          string `json:"title"`
	ItemCount      int    `json:"item_count"`
	ManifestSHA256 string `json:"manifest_sha256"`
	FiledAt        string `json:"filed_at"`
}

// File stores the zip that archive writes, files the pack with its canonical manifest and
// enqueues evidence.pack_filed. It sets the hash of the manifest and the size of the pack.
// It stores the zip in pieces, so that other writers can write between them. The last
// transaction stores the pack, its audit event and its event. Before it the pack is not
// visible.
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
		// SweepUploads removes the upload if this fails.
		err = errors.Join(err, e.removeUpload(context.WithoutCancel(ctx), upload.seq))
	}
	return err
}

// publishEvidence files a pack after its zip was stored.
func publishEvidence(tx *Tx, pack *EvidencePack, manifest string, upload *evidenceUpload) error {
	var pieces int
	var size int64
	err := tx.Row("SELECT count(*), coalesce(sum(length(bytes)), 0) FROM evidence_pieces WHERE upload_seq = ?", upload.seq).Scan(&pieces, &size)
	if err != nil {
		return StoreError(err)
	}
	if pieces != upload.number || size != upload.size {
		return unavailable(errors.New("the pieces of the pack were removed before it was filed"))
	}
	_, err = tx.Insert(`INSERT INTO evidence_packs
		(org_id, id, title, regime_id, item_count, manifest, manifest_sha256, filed_at, filed_by, upload_seq, size)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		tx.Org, pack.ID, pack.Title, pack.RegimeID, pack.ItemCount, manifest, pack.ManifestSHA256, pack.FiledAt, pack.FiledBy, upload.seq, size)
	if err != nil {
		return StoreError(err)
	}
	err = tx.Audit(audit.Event{
		Action: "evidence_pack.filed", Category: audit.DataChange, Severity: audit.SeverityWrite, ResourceType: "evidence_pack", ResourceID: pack.ID,
		Metadata: audit.Metadata{"title": pack.Title, "regime_id": pack.RegimeID, "item_count": pack.ItemCount, "manifest_sha256": pack.ManifestSHA256},
	})
	if err != nil {
		return err
	}
	return tx.Enqueue(EventEvidencePackFiled, packData{pack.ID, pack.Title, pack.ItemCount, pack.ManifestSHA256, pack.FiledAt})
}

// evidenceUpload is a writer that stores in pieces.
type evidenceUpload struct {
	ctx    context.Context
	db     *DB
	seq    int64
	number int
	size   int64
	buffer bytes.Buffer
}

func (u *evidenceUpload) begin() error {
	return u.retry(func() error {
		return u.db.Maintain(u.ctx, func(tx *Tx) (err error) {
			u.seq, err = tx.Insert("INSERT INTO evidence_uploads (written_at) VALUES (?)", tx.At())
			return StoreError(err)
		})
	})
}

func (u *evidenceUpload) Write(p []byte) (int, error) {
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

func (u *evidenceUpload) flush() error {
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
func (u *evidenceUpload) retry(write func() error) error {
	for until := time.Now().Add(pieceWait); ; {
		err := write()
		if !errors.Is(err, sqlite.ErrWriterBusy) && !sqlite.IsBusy(err) || time.Now().After(until) || u.ctx.Err() != nil {
			return err
		}
	}
}

// SweepUploads removes the pieces of packs that were not filed, for example by a process
// that was killed.
func (e Evidence) SweepUploads(ctx context.Context) error {
	var left []int64
	err := e.db.Each(ctx, func(row Scanner) error {
		var seq int64
		err := row.Scan(&seq)
		left = append(left, seq)
		return err
	}, `SELECT seq FROM evidence_uploads u WHERE written_at < ?
		AND NOT EXISTS (SELECT 1 FROM evidence_packs WHERE upload_seq = u.seq)`, Timestamp(e.db.Now().Add(-abandonedAfter)))
	for _, seq := range left {
		if err == nil {
			err = e.removeUpload(ctx, seq)
		}
	}
	return err
}

// removeUpload removes the pieces of a pack that was not filed, a few in each transaction,
// and then the upload. It keeps the pieces of a filed pack.
func (e Evidence) removeUpload(ctx context.Context, seq int64) error {
	for {
		gone := false
		err := e.db.Maintain(ctx, func(tx *Tx) error {
			var filed bool
			if err := tx.Row("SELECT EXISTS (SELECT 1 FROM evidence_packs WHERE upload_seq = ?)", seq).Scan(&filed); err != nil || filed {
				gone = filed
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
