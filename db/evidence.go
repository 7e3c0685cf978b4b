package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

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
	query, from := selectPiece, pack.upload
	if pack.upload == 0 {
		query, from = "SELECT bytes FROM evidence_chunks WHERE pack_seq = ? AND number = ?", pack.seq
	}
	return pack.EvidencePack, e.db.writePieces(ctx, query, from, pack.Size, w)
}

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
	return e.db.StoreFile(ctx, by, archive, func(tx *Tx, upload Upload) error {
		pack.Size = upload.Size
		return publishEvidence(tx, pack, string(manifest), upload)
	})
}

// publishEvidence files a pack after its zip was stored.
func publishEvidence(tx *Tx, pack *EvidencePack, manifest string, upload Upload) error {
	_, err := tx.Insert(`INSERT INTO evidence_packs
		(org_id, id, title, regime_id, item_count, manifest, manifest_sha256, filed_at, filed_by, upload_seq, size)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		tx.Org, pack.ID, pack.Title, pack.RegimeID, pack.ItemCount, manifest, pack.ManifestSHA256, pack.FiledAt, pack.FiledBy, upload.Seq, upload.Size)
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
