package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"govsvc/db/resource"
	"govsvc/db/sqlite"
)

// Bounds of one transaction that adds records to the search index.
const (
	// indexedWithin is how long a transaction may add records. One record more
	// may take a few milliseconds.
	indexedWithin = 10 * time.Millisecond
	// indexedAtOnce bounds the records of a transaction.
	indexedAtOnce = 1000
)

// searchedResources are the resources of the search index.
var searchedResources = slices.DeleteFunc(resource.All(), func(r *resource.Resource) bool { return r.SearchNumber == 0 })

// UpdateSearchIndex adds to the search index what it lacks. It works in small
// transactions and rests between them for as long as each took, so that other
// writers get at least half of the time. It ends when the index is complete. A
// damaged index is emptied and filled again.
func (d *DB) UpdateSearchIndex(ctx context.Context) error {
	for {
		behind, err := d.searchBehind(ctx)
		if err != nil || !behind {
			return err
		}
		started := time.Now()
		err = d.Maintain(ctx, (*Tx).indexSome)
		if sqlite.IsCorruptTable(err) {
			err = d.Maintain(ctx, (*Tx).emptySearchIndex)
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(time.Since(started)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// searchBehind reports whether the index lacks a record or a change.
func (d *DB) searchBehind(ctx context.Context) (behind bool, err error) {
	if d.engine.Frozen() {
		return false, nil // nothing can be added
	}
	query := "SELECT EXISTS (SELECT 1 FROM search_changes)"
	for _, r := range searchedResources {
		query += fmt.Sprintf(" OR EXISTS (SELECT 1 FROM %s WHERE seq > (SELECT seq FROM search_progress WHERE kind = %d))", r.Table, r.SearchNumber)
	}
	err = d.Row(ctx, query).Scan(&behind)
	return behind, storeError(err)
}

// RebuildSearchIndex empties the search index and fills it again.
func (d *DB) RebuildSearchIndex(ctx context.Context) error {
	if err := d.Maintain(ctx, (*Tx).emptySearchIndex); err != nil {
		return err
	}
	return d.UpdateSearchIndex(ctx)
}

func (tx *Tx) emptySearchIndex() error {
	for _, statement := range []string{
		"INSERT INTO search_index (search_index) VALUES ('delete-all')",
		"UPDATE search_progress SET seq = 0",
		"DELETE FROM search_changes",
	} {
		if _, err := tx.Exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// indexSome adds records for a bounded time: changed ones first, then new ones.
// SQLite writes the index in large parts where rowids ascend, so that the
// records of a type and an organisation come in the order of their seqs.
func (tx *Tx) indexSome() error {
	until := time.Now().Add(indexedWithin)
	places, err := tx.numbers("SELECT place FROM search_changes ORDER BY place LIMIT ?", indexedAtOnce)
	if err != nil {
		return err
	}
	for i := 0; i < len(places) && (i == 0 || time.Now().Before(until)); i++ {
		if err := tx.indexChanged(places[i]); err != nil {
			return err
		}
	}
	for _, r := range searchedResources {
		if len(places) > 0 && !time.Now().Before(until) {
			break
		}
		if err := tx.indexNew(r, until); err != nil {
			return err
		}
	}
	return nil
}

// numbers reads a column of integers.
func (tx *Tx) numbers(query string, args ...any) ([]int64, error) {
	var numbers []int64
	err := tx.Each(func(row Scanner) error {
		var n int64
		err := row.Scan(&n)
		numbers = append(numbers, n)
		return err
	}, query, args...)
	return numbers, err
}

// indexChanged replaces the entry of a record whose texts changed.
func (tx *Tx) indexChanged(place int64) error {
	number, seq := place>>kindShift, place&(1<<orgShift-1)
	for _, r := range searchedResources {
		if r.SearchNumber != number {
			continue
		}
		err := tx.Each(func(row Scanner) error { return tx.indexRow(row, new(int64)) }, indexedTexts(r)+" WHERE seq = ?", seq)
		if err != nil {
			return err
		}
	}
	_, err := tx.Exec("DELETE FROM search_changes WHERE place = ?", place)
	return err
}

var errIndexedEnough = errors.New("the time of this transaction is over")

// indexNew adds records of a type that the index does not hold yet.
func (tx *Tx) indexNew(r *resource.Resource, until time.Time) error {
	done := int64(0)
	err := tx.Each(func(row Scanner) error {
		err := tx.indexRow(row, &done)
		if err == nil && time.Now().After(until) {
			err = errIndexedEnough
		}
		return err
	}, indexedTexts(r)+" WHERE seq > (SELECT seq FROM search_progress WHERE kind = ?) ORDER BY seq LIMIT ?", r.SearchNumber, indexedAtOnce)
	if err != nil && !errors.Is(err, errIndexedEnough) || done == 0 {
		return err
	}
	_, err = tx.Exec("UPDATE search_progress SET seq = ? WHERE kind = ?", done, r.SearchNumber)
	return err
}

// indexedTexts selects the seqs, places and texts of a type.
func indexedTexts(r *resource.Resource) string {
	return fmt.Sprintf("SELECT seq, (%d << %d) + (org_id << %d) + seq, concat_ws(char(10), %s) FROM %s",
		r.SearchNumber, kindShift, orgShift, strings.Join(r.Searched, ", "), r.Table)
}

// indexRow adds a row of indexedTexts to the index, or replaces its entry. A
// statement of one row: before one that inserts a SELECT, SQLite would write out
// what the index has gathered.
func (tx *Tx) indexRow(row Scanner, seq *int64) error {
	var place int64
	var text string
	if err := row.Scan(seq, &place, &text); err != nil {
		return err
	}
	_, err := tx.Exec("INSERT OR REPLACE INTO search_index (rowid, text) VALUES (?, ?)", place, text)
	return err
}

// searchSamples is how many records of each type SearchFaults looks up.
const searchSamples = 2000

// SearchFaults lists the types of which the search index lacks records that it
// should hold. It looks up records that are spread evenly over the file. The
// index's own structure is part of Faults.
func (d *DB) SearchFaults(ctx context.Context) ([]string, error) {
	var faults []string
	for _, r := range searchedResources {
		lacking, err := d.searchLacks(ctx, r)
		if sqlite.IsCorruptTable(err) {
			return append(faults, "the search index is damaged"), nil
		}
		if err != nil {
			return faults, err
		}
		if lacking > 0 {
			faults = append(faults, fmt.Sprintf("the search index lacks %d of the records of type %s that were looked up", lacking, r.Type))
		}
	}
	return faults, nil
}

// searchLacks counts the records of a sample that the index does not find by the
// start and the end of their texts.
func (d *DB) searchLacks(ctx context.Context, r *resource.Resource) (int, error) {
	var progress int64
	none, err := absent(d.engine.Bulk.Row(ctx, "SELECT seq FROM search_progress WHERE kind = ?", r.SearchNumber).Scan(&progress))
	if none {
		err = errors.New("search_progress lacks a row")
	}
	if err != nil {
		return 0, err
	}
	step, lacking := max(1, progress/searchSamples), 0
	for next := int64(1); next <= progress; next += step {
		var seq, place int64
		var text string
		err := d.engine.Bulk.Row(ctx, indexedTexts(r)+" WHERE seq >= ? ORDER BY seq LIMIT 1", next).Scan(&seq, &place, &text)
		if errors.Is(err, sql.ErrNoRows) || err == nil && seq > progress {
			break
		}
		if err != nil {
			return lacking, err
		}
		next = max(next, seq)
		grams := trigrams(text)
		if grams == nil {
			continue
		}
		var known bool
		err = d.engine.Bulk.Row(ctx, "SELECT EXISTS (SELECT 1 FROM search_index WHERE search_index MATCH ? AND rowid = ?) OR EXISTS (SELECT 1 FROM search_changes WHERE place = ?)",
			grams[0]+" AND "+grams[len(grams)-1], place, place).Scan(&known)
		if err != nil {
			return lacking, err
		}
		if !known {
			lacking++
		}
	}
	return lacking, nil
}
