package annotation

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"govsvc/db"
)

// Link joins the record to another one.
type Link struct {
	ID, At   string
	Other    Name
	Archived bool // the other record
}

// linksShown bounds the links that Links returns. An import may add more to a record.
const linksShown = 2 * db.MaxLinks

// Links returns the links of a record, by the type and the name of the other record.
func (s *Service) Links(ctx context.Context, org db.Org, of Subject) (all []Link, err error) {
	err = s.store.Each(ctx, func(row db.Scanner) error {
		var l Link
		err := row.Scan(&l.ID, &l.At, &l.Other.Type, &l.Other.ID, &l.Archived)
		all = append(all, l)
		return err
	}, `SELECT id, at, type, other, EXISTS (SELECT 1 FROM archived_records WHERE org_id = ?1 AND record_type = type AND record_id = other)
		FROM (SELECT id, created_at AS at, other_type AS type, other_id AS other FROM links WHERE org_id = ?1 AND record_type = ?2 AND record_id = ?3
			UNION ALL SELECT id, created_at, record_type, record_id FROM links WHERE org_id = ?1 AND other_type = ?2 AND other_id = ?3)
		LIMIT ?4`, org, of.Type, of.ID, linksShown)
	for i := range all { // one statement for all would read all records
		if err == nil {
			all[i].Other, err = s.Find(ctx, org, all[i].Other.Subject)
		}
	}
	slices.SortFunc(all, func(a, b Link) int {
		return cmp.Or(strings.Compare(a.Other.Type, b.Other.Type), strings.Compare(strings.ToLower(a.Other.Name), strings.ToLower(b.Other.Name)), strings.Compare(a.ID, b.ID))
	})
	return all, err
}

// RemoveLink removes a link of a record; NotFound if the record has no link with the id.
func (s *Service) RemoveLink(ctx context.Context, by db.Actor, of Subject, id string) error {
	return s.store.Write(ctx, by, func(tx *db.Tx) error {
		var found bool
		err := tx.Row(`SELECT EXISTS (SELECT 1 FROM links WHERE org_id = ?1 AND id = ?2
			AND (?3, ?4) IN ((record_type, record_id), (other_type, other_id)))`, tx.Org, id, of.Type, of.ID).Scan(&found)
		if err != nil {
			return db.StoreError(err)
		}
		if !found {
			return &db.Error{Code: db.NotFound, Message: "no link with this id on this record"}
		}
		return tx.RemoveLink(id)
	})
}

// LinkEnds returns the two records of each link, also of those that were removed, by the id
// of the link.
func (s *Service) LinkEnds(ctx context.Context, org db.Org, ids []string) (map[string][2]Subject, error) {
	ends := map[string][2]Subject{}
	if len(ids) == 0 {
		return ends, nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	err = s.store.Each(ctx, func(row db.Scanner) error {
		var id string
		var both [2]Subject
		err := row.Scan(&id, &both[0].Type, &both[0].ID, &both[1].Type, &both[1].ID)
		ends[id] = both
		return err
	}, `SELECT id, record_type, record_id, other_type, other_id FROM links WHERE org_id = ?1 AND id IN (SELECT value FROM json_each(?2))
		UNION ALL SELECT id, record_type, record_id, other_type, other_id FROM removed_links WHERE org_id = ?1 AND id IN (SELECT value FROM json_each(?2))`,
		org, string(list))
	return ends, err
}
