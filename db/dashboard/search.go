package dashboard

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/db/sqlite"
)

// SearchQuery asks for the records of several types that hold all of the words.
type SearchQuery struct {
	Types []string
	Words []string // each is in one of the record's texts, in either case
	User  string   // runs one search at a time
	Limit int      // records of each type
	Bytes int      // of all records; further records are left out
}

// SearchGroup has the records of one type, best first: those whose name is the words,
// then those whose name holds all of them, then others. Records that are as good are in
// the order of the list.
type SearchGroup struct {
	Type    string
	Records [][]byte // with all of their members, as JSON
	Total   int      // the number of records, up to CountedRecords
	More    bool     // there are more
}

// SearchRecords searches the types one after the other, as a single search of the user.
// It returns no group for a type without a match. It finds what Browse finds.
func SearchRecords(ctx context.Context, store *db.DB, org db.Organisation, q SearchQuery) ([]SearchGroup, error) {
	var groups []SearchGroup
	taken := 0
	err := store.Search(ctx, q.User, func(ctx context.Context, pool *sqlite.Pool) error {
		for _, object := range q.Types {
			b, err := newBrowsing(ctx, store, org, object, BrowseQuery{Words: q.Words})
			if err != nil {
				return err
			}
			b.pool = pool
			total, err := b.count(ctx)
			if err != nil {
				return err
			}
			if total == 0 {
				continue
			}
			group := SearchGroup{Type: object, Total: min(total, CountedRecords), More: total > CountedRecords}
			query, args := b.best(q.Limit, !group.More)
			err = pool.EachUncached(ctx, func(row db.Scanner) error {
				var record sqlite.RawBytes
				if err := row.Scan(&record); err != nil {
					return err
				}
				if taken += len(record); taken > q.Bytes {
					return sqlite.ErrStop
				}
				group.Records = append(group.Records, bytes.Clone(record))
				return nil
			}, query, args...)
			if err != nil {
				return err
			}
			groups = append(groups, group)
		}
		return nil
	})
	return groups, err
}

// best reads the first records of the query. Ranked records come best first. Without
// ranks, an index of the list can have the order.
func (b *browsing) best(limit int, ranked bool) (string, []any) {
	down, rank, order := "", "", ""
	if b.down {
		down = " DESC"
	}
	if ranked {
		rank, order = b.rank()+" AS rank, ", "rank DESC, "
	}
	order += "key" + down + ", found" + down
	return "WITH p AS MATERIALIZED (SELECT " + rank + b.key + " AS key, id AS found FROM " + b.Table + " WHERE org_id = ?1" + b.where +
		" ORDER BY " + order + " LIMIT ?) SELECT r.record FROM p CROSS JOIN " +
		b.Type + "_records r ON r.org_id = ?1 AND r.id = p.found ORDER BY " + order, append(slices.Clone(b.args), limit)
}

// rank returns an expression: 2 if one of the names of a record is the words, 1 if the
// names hold each word, and 0 otherwise.
func (b *browsing) rank() string {
	same := b.argument(escapeLike.Replace(strings.Join(b.words, " ")))
	var equal, holds []string
	for _, name := range b.Page.Names {
		equal = append(equal, name+" LIKE "+same+` ESCAPE '\'`)
	}
	for _, word := range b.words {
		holds = append(holds, "concat_ws(char(10), "+strings.Join(b.Page.Names, ", ")+") LIKE "+b.argument(pattern(word))+` ESCAPE '\'`)
	}
	return "CASE WHEN " + strings.Join(equal, " OR ") + " THEN 2 WHEN " + strings.Join(holds, " AND ") + " THEN 1 ELSE 0 END"
}
