package search

import (
	"context"
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
	// maxDuration is how long a transaction adds records. The last record may take a
	// few milliseconds more, and the commit several times as long.
	maxDuration = 10 * time.Millisecond
	// maxContended is maxDuration while other writers wait.
	maxContended = time.Millisecond
	// contendedPause is the pause after a transaction for which another writer waited,
	// as a multiple of the time that it took.
	contendedPause = 9
	// maxRecords bounds the records of a transaction.
	maxRecords = 1000
)

// resources are the resources that the index holds.
var resources = slices.DeleteFunc(resource.All(), func(r *resource.Resource) bool { return r.SearchNumber == 0 })

// Index is the search index of an open file.
type Index struct{ file *sqlite.DB }

// NewIndex returns the search index of a file.
func NewIndex(file *sqlite.DB) Index { return Index{file} }

// Update adds to the index what it lacks. It works in small transactions. After each
// it waits for as long as the transaction took, and for longer if another writer waits. So
// other writers get nine tenths of the time. A search reads the records that the
// index lacks. Update ends when the index is complete. A damaged index is emptied and
// filled again.
func (i Index) Update(ctx context.Context) error {
	for {
		behind, err := i.isBehind(ctx)
		if err != nil || !behind {
			return err
		}
		started, pause := time.Now(), time.Duration(1)
		err = i.file.Write(ctx, func(tx *sqlite.Tx) error {
			err := addSome(tx)
			if tx.Contended() {
				pause = contendedPause
			}
			return err
		})
		if sqlite.IsCorruptTable(err) {
			err = i.file.Write(ctx, empty)
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(pause * time.Since(started)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isBehind reports whether the index lacks a record or a change.
func (i Index) isBehind(ctx context.Context) (behind bool, err error) {
	if i.file.Frozen() {
		return false, nil // a frozen file stores nothing
	}
	query := "SELECT EXISTS (SELECT 1 FROM search_changes)"
	for _, r := range resources {
		query += fmt.Sprintf(" OR EXISTS (SELECT 1 FROM %s WHERE seq > (SELECT seq FROM search_progress WHERE kind = %d))", r.Table, r.SearchNumber)
	}
	err = i.file.Lookups.Row(ctx, query).Scan(&behind)
	return behind, err
}

// Rebuild empties the index and fills it again.
func (i Index) Rebuild(ctx context.Context) error {
	if err := i.file.Write(ctx, empty); err != nil {
		return err
	}
	return i.Update(ctx)
}

func empty(tx *sqlite.Tx) error {
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

// addSome adds records for a bounded time, changed ones first. SQLite writes the index in
// large parts if rowids ascend. That is why the records of a type and an organisation come
// in the order of their seqs.
func addSome(tx *sqlite.Tx) error {
	duration := maxDuration
	if tx.Contended() {
		duration = maxContended
	}
	until := time.Now().Add(duration)
	places, err := readNumbers(tx, "SELECT place FROM search_changes ORDER BY place LIMIT ?", maxRecords)
	if err != nil {
		return err
	}
	for i := 0; i < len(places) && (i == 0 || time.Now().Before(until)); i++ {
		if err := replaceChanged(tx, places[i]); err != nil {
			return err
		}
	}
	for _, r := range resources {
		if len(places) > 0 && !time.Now().Before(until) {
			break
		}
		if err := addNew(tx, r, until); err != nil {
			return err
		}
	}
	return nil
}

// readNumbers reads a column of integers.
func readNumbers(tx *sqlite.Tx, query string, args ...any) ([]int64, error) {
	var numbers []int64
	err := tx.Each(func(row sqlite.Scanner) error {
		var n int64
		err := row.Scan(&n)
		numbers = append(numbers, n)
		return err
	}, query, args...)
	return numbers, err
}

// replaceChanged replaces the entry of a record whose texts changed.
func replaceChanged(tx *sqlite.Tx, place int64) error {
	number, seq := place>>kindShift, place&(1<<orgShift-1)
	for _, r := range resources {
		if r.SearchNumber != number {
			continue
		}
		err := tx.Each(func(row sqlite.Scanner) error { return addRow(tx, row, new(int64)) }, indexedTexts(r)+" WHERE seq = ?", seq)
		if err != nil {
			return err
		}
	}
	_, err := tx.Exec("DELETE FROM search_changes WHERE place = ?", place)
	return err
}

var errTimeSpent = errors.New("the time of this transaction is over")

// addNew adds records of a type that the index does not hold yet.
func addNew(tx *sqlite.Tx, r *resource.Resource, until time.Time) error {
	done := int64(0)
	err := tx.Each(func(row sqlite.Scanner) error {
		err := addRow(tx, row, &done)
		if err == nil && time.Now().After(until) {
			err = errTimeSpent
		}
		return err
	}, indexedTexts(r)+" WHERE seq > (SELECT seq FROM search_progress WHERE kind = ?) ORDER BY seq LIMIT ?", r.SearchNumber, maxRecords)
	if err != nil && !errors.Is(err, errTimeSpent) || done == 0 {
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

// addRow adds a row of indexedTexts to the index, or replaces its entry. It adds one row a
// statement, because SQLite writes the collected part of the index before a statement that
// inserts the rows of a SELECT.
func addRow(tx *sqlite.Tx, row sqlite.Scanner, seq *int64) error {
	var place int64
	var text string
	if err := row.Scan(seq, &place, &text); err != nil {
		return err
	}
	_, err := tx.Exec("INSERT OR REPLACE INTO search_index (rowid, text) VALUES (?, ?)", place, text)
	return err
}

// sampleSize is how many records of each type Faults looks up.
const sampleSize = 2000

// Faults lists the types of which the index lacks records that it should hold. It
// looks up records that are spread evenly over the file. The check of the whole file
// covers the structure of the index; see package backup.
func (i Index) Faults(ctx context.Context) ([]string, error) {
	var faults []string
	for _, r := range resources {
		lacking, err := i.countLacking(ctx, r)
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

// countLacking counts the records of a sample that the index does not find by the start
// and the end of their texts.
func (i Index) countLacking(ctx context.Context, r *resource.Resource) (int, error) {
	var progress int64
	err := i.file.Bulk.Row(ctx, "SELECT seq FROM search_progress WHERE kind = ?", r.SearchNumber).Scan(&progress)
	if errors.Is(err, sqlite.ErrNoRows) {
		err = errors.New("search_progress lacks a row")
	}
	if err != nil {
		return 0, err
	}
	step, lacking := max(1, progress/sampleSize), 0
	for next := int64(1); next <= progress; next += step {
		var seq, place int64
		var text string
		err := i.file.Bulk.Row(ctx, indexedTexts(r)+" WHERE seq >= ? ORDER BY seq LIMIT 1", next).Scan(&seq, &place, &text)
		if errors.Is(err, sqlite.ErrNoRows) || err == nil && seq > progress {
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
		err = i.file.Bulk.Row(ctx, "SELECT EXISTS (SELECT 1 FROM search_index WHERE search_index MATCH ? AND rowid = ?) OR EXISTS (SELECT 1 FROM search_changes WHERE place = ?)",
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
