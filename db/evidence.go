package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
)

// EvidencePack is a filed pack as it is listed (contract, section 6).
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

// evidenceChunk is the size in bytes of the pieces that an archive is kept in.
const evidenceChunk = 1 << 20

// evidence is what goes into a pack: for each item, in the order of a pack, the
// query of its records. ?1 is the organisation, ?2 the regime or "".
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
			SELECT json_group_array(` + periodJSON + ` ORDER BY c.period_start)
			FROM kpi_checkins c WHERE c.kpi_seq = k.seq)))
		FROM kpis k JOIN kpi_records r ON r.org_id = k.org_id AND r.id = k.id
		WHERE k.org_id = ?1 ORDER BY k.created_at, k.id`},
}

// EvidenceItems names what is evidence, in the order of a pack: the present
// compliance posture, the obligations, and so on.
func EvidenceItems() []string {
	names := make([]string, len(evidence))
	for i, e := range evidence {
		names[i] = e.item
	}
	return names
}

// Evidence calls each with every record of an item, as JSON, oldest first: the
// obligations of the regime alone if one is named, risks with their
// severity_evidence, key results with their checkins. The bytes are valid
// during the call.
func (s *Snapshot) Evidence(ctx context.Context, org Org, item, regime string, each func([]byte) error) error {
	for _, e := range evidence {
		if e.item != item {
			continue
		}
		var record sql.RawBytes
		return s.rows(ctx, func(row scanner) error {
			if err := row.Scan(&record); err != nil {
				return storeError(err)
			}
			return each(record)
		}, e.query, org, regime)
	}
	return fmt.Errorf("no evidence is named %q", item)
}

// Regimes lists the ids of the regimes that the organisation's obligations or
// its present posture name.
func (s *Snapshot) Regimes(ctx context.Context, org Org) ([]string, error) {
	var ids []string
	err := s.rows(ctx, func(row scanner) error {
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

// NewEvidencePack gives a pack that is about to be filed its id, its instant and
// its author, which the manifest names.
func (tx *Tx) NewEvidencePack(title string) EvidencePack {
	return EvidencePack{Object: "evidence_pack", ID: tx.newID(), Title: title, FiledAt: tx.At(), FiledBy: tx.Actor}
}

// packData is what the event of a filed pack tells.
type packData struct {
	PackID         string `json:"pack_id"`
	Title          string `json:"title"`
	ItemCount      int    `json:"item_count"`
	ManifestSHA256 string `json:"manifest_sha256"`
	FiledAt        string `json:"filed_at"`
}

// FileEvidence stores a pack with its canonical manifest and the zip that
// archive writes, and raises evidence.pack_filed. It completes the pack with
// the manifest's hash and the size.
func (tx *Tx) FileEvidence(pack *EvidencePack, manifest []byte, archive func(io.Writer) error) error {
	sum := sha256.Sum256(manifest)
	pack.ManifestSHA256 = hex.EncodeToString(sum[:])
	chunks := &chunkWriter{tx: tx}
	err := tx.change(`INSERT INTO evidence_packs
		(org_id, id, title, regime_id, item_count, manifest, manifest_sha256, filed_at, filed_by)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
		tx.Org, pack.ID, pack.Title, pack.RegimeID, pack.ItemCount, string(manifest), pack.ManifestSHA256, pack.FiledAt, pack.FiledBy,
	).Scan(&chunks.pack)
	if err != nil {
		return storeError(err)
	}
	if err := archive(chunks); err != nil {
		return err
	}
	if err := chunks.flush(); err != nil {
		return err
	}
	pack.Size = chunks.size
	err = tx.Audit(AuditEvent{
		Action: "evidence_pack.filed", Category: DataChange, Severity: SeverityWrite, ResourceType: "evidence_pack", ResourceID: pack.ID,
		Metadata: Metadata{"title": pack.Title, "regime_id": pack.RegimeID, "item_count": pack.ItemCount, "manifest_sha256": pack.ManifestSHA256},
	})
	if err != nil {
		return err
	}
	return tx.Raise("evidence.pack_filed", packData{pack.ID, pack.Title, pack.ItemCount, pack.ManifestSHA256, pack.FiledAt})
}

// chunkWriter stores what is written to it in pieces.
type chunkWriter struct {
	tx     *Tx
	pack   int64
	number int
	size   int64
	held   bytes.Buffer
}

func (c *chunkWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), evidenceChunk-c.held.Len())
		c.held.Write(rest[:n])
		if rest = rest[n:]; c.held.Len() == evidenceChunk {
			if err := c.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

func (c *chunkWriter) flush() error {
	if c.held.Len() == 0 {
		return nil
	}
	_, err := c.tx.exec("INSERT INTO evidence_chunks (pack_seq, number, bytes) VALUES (?, ?, ?)", c.pack, c.number, c.held.Bytes())
	c.number++
	c.size += int64(c.held.Len())
	c.held.Reset()
	return err
}

const evidencePacks = `SELECT seq, id, title, regime_id, item_count, manifest_sha256, filed_at, filed_by,
	(SELECT coalesce(sum(length(bytes)), 0) FROM evidence_chunks WHERE pack_seq = seq)
	FROM evidence_packs WHERE org_id = ?`

func scanEvidencePack(row scanner) (seq int64, p EvidencePack, err error) {
	p.Object = "evidence_pack"
	err = row.Scan(&seq, &p.ID, &p.Title, &p.RegimeID, &p.ItemCount, &p.ManifestSHA256, &p.FiledAt, &p.FiledBy, &p.Size)
	return seq, p, err
}

// EvidencePacks lists an organisation's packs, newest first.
func (d *DB) EvidencePacks(ctx context.Context, org Org) ([]EvidencePack, error) {
	list := []EvidencePack{}
	err := d.rows(ctx, func(row scanner) error {
		_, pack, err := scanEvidencePack(row)
		list = append(list, pack)
		return err
	}, evidencePacks+" ORDER BY filed_at DESC, id DESC", org)
	return list, err
}

// ExportEvidence writes a pack's zip to w and returns the pack. The audit log
// is told first: a pack that can't be audited does not leave the file. It reads
// one piece at a time, so that a slow reader of them holds up nobody.
func (d *DB) ExportEvidence(ctx context.Context, by By, id string, w io.Writer) (EvidencePack, error) {
	seq, pack, err := scanEvidencePack(d.row(ctx, evidencePacks+" AND id = ?", by.Org, id))
	if none, err := absent(err); none {
		return pack, &Error{Code: NotFound, Message: fmt.Sprintf("no evidence pack %s in this organisation; `govsvc evidence list` shows them", id)}
	} else if err != nil {
		return pack, storeError(err)
	}
	err = d.Write(ctx, by, func(tx *Tx) error {
		return tx.Audit(AuditEvent{Action: "evidence_pack.exported", Category: Export, Severity: SeverityRead, ResourceType: "evidence_pack", ResourceID: id})
	})
	if err != nil {
		return pack, err
	}
	written := int64(0)
	for number := 0; written < pack.Size; number++ {
		var chunk []byte
		if err := d.row(ctx, "SELECT bytes FROM evidence_chunks WHERE pack_seq = ? AND number = ?", seq, number).Scan(&chunk); err != nil {
			return pack, storeError(err)
		}
		n, err := w.Write(chunk)
		if err != nil {
			return pack, err
		}
		written += int64(n)
	}
	return pack, nil
}
