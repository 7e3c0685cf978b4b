package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/dashboard"
	"govsvc/db/resource"
)

// View asks for a page of a resource's records, as people look at them.
type View struct {
	// Filters has values by the name of a Filter. A filter with values to choose
	// from may have several, with commas between them. A filter by a text finds the
	// records that have it or, if none has, contain it. Empty values do not count.
	Filters map[string]string
	Search  string // words that the record's texts must all hold, in either case
	Sort    string // "title", or "-title" for the greatest first; "" is the API's order
	Cursor  string // ViewPage.Next or Previous of the same resource and sort
	Limit   int    // records a page, at most 200; 0 is 25; fewer where they take 1 MB
}

// ViewPage is a page of a view.
type ViewPage struct {
	Records  []Record
	Next     string // cursors; "" where there is no such page
	Previous string
	Total    int  // records of the view
	More     bool // there are more than Total
}

// Record is a record with all of its members, those that the API does not show
// too: numbers are json.Number, instants and dates texts.
type Record = map[string]any

// MaxViewLimit bounds View.Limit.
const MaxViewLimit = 200

// Bounds of a view.
const (
	viewLimit   = 25
	viewBytes   = 1 << 20 // of records, decoded at once for people to look at
	searchMost  = 200     // characters
	searchWords = 8
	filterMost  = 200 // characters, as keys have
)

// Browse reads a page of a resource's records. It checks the caller's plan; pages
// check the role.
func Browse(ctx context.Context, c *Caller, object string, v View) (ViewPage, error) {
	q, err := c.browseQuery(object, v)
	if err != nil {
		return ViewPage{}, err
	}
	found, err := dashboard.Browse(ctx, c.Store, c.Organisation, object, q)
	if err != nil {
		return ViewPage{}, err
	}
	page := ViewPage{Next: found.Next, Previous: found.Previous, Total: found.Total, More: found.More}
	page.Records, err = records(found.Records)
	return page, err
}

// Neighbours returns the ids of the records before and after a record in a view, "" where
// there is none. It ignores the cursor and the limit of the view.
func Neighbours(ctx context.Context, c *Caller, object, id string, v View) (previous, next string, err error) {
	q, err := c.browseQuery(object, v)
	if err != nil {
		return "", "", err
	}
	return dashboard.Neighbours(ctx, c.Store, c.Organisation, object, id, q)
}

// ExportView calls each with all records of a view, as JSON. It ignores the cursor and
// the limit of the view. The audit log records the number of records, also of an export
// that fails after the first record.
func ExportView(ctx context.Context, c *Caller, object string, v View, each func(record []byte) error) error {
	q, err := c.browseQuery(object, v)
	if err != nil {
		return err
	}
	count := 0
	err = dashboard.EachBrowsed(ctx, c.Store, c.Organisation, object, q, func(record []byte) error {
		count++
		return each(record)
	})
	action := "export.completed"
	if err != nil {
		if count == 0 {
			return err
		}
		action = "export.failed"
	}
	// the client may have received most of the records before it disconnected
	return errors.Join(err, c.Store.Write(context.WithoutCancel(ctx), c.actor(), func(tx *db.Tx) error {
		return tx.Audit(audit.Event{
			Action: action, Category: audit.Export, Severity: audit.SeverityRead,
			Metadata: audit.Metadata{"types": map[string]int{object: count}, "filters": v.Filters, "search": v.Search},
		})
	}))
}

// browseQuery checks a view.
func (c *Caller) browseQuery(object string, v View) (dashboard.BrowseQuery, error) {
	q := dashboard.BrowseQuery{
		Sort: v.Sort, Cursor: v.Cursor, Limit: v.Limit, User: c.ActorID, Filters: map[string][]string{}, Texts: map[string]string{}, Size: db.PageSize{Most: viewBytes},
	}
	r, err := c.withPages(object)
	if err != nil {
		return q, err
	}
	if q.Limit == 0 {
		q.Limit = viewLimit
	}
	if q.Limit < 0 || q.Limit > MaxViewLimit {
		return q, invalid("limit", fmt.Sprintf("limit must be from 1 to %d", MaxViewLimit))
	}
	if q.Words, err = wordsOf(v.Search); err != nil {
		return q, err
	}
	return q, c.browseFilters(r, v.Filters, &q)
}

// wordsOf returns the words of a search.
func wordsOf(search string) ([]string, error) {
	if !utf8.ValidString(search) || utf8.RuneCountInString(search) > searchMost {
		return nil, invalid("search", fmt.Sprintf("search must have at most %d characters", searchMost))
	}
	if strings.ContainsRune(search, 0) {
		return nil, invalid("search", "search must not contain NUL characters")
	}
	words := strings.Fields(search)
	if len(words) > searchWords {
		return nil, invalid("search", fmt.Sprintf("search must have at most %d words", searchWords))
	}
	return words, nil
}

func (c *Caller) browseFilters(r *resource.Resource, given map[string]string, q *dashboard.BrowseQuery) error {
	if c.Document == nil {
		return errNoDocument
	}
	filters := Filters(c.Document, r)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		if value == "" {
			continue
		}
		at := slices.IndexFunc(filters, func(f Filter) bool { return f.Name == name })
		switch {
		case at < 0:
			return invalid(name, fmt.Sprintf("%.50q is not a filter of this list", name))
		case filters[at].Instant:
			since, err := parseInstant(name, value)
			if err != nil {
				return err
			}
			q.UpdatedSince = since
		case name == ArchivedFilter:
			if value != ArchivedOnly {
				return invalid(name, name+" must be "+ArchivedOnly)
			}
			q.Archived = true
		case filters[at].Values == nil:
			if !utf8.ValidString(value) || utf8.RuneCountInString(value) > filterMost {
				return invalid(name, fmt.Sprintf("%s must have at most %d characters", name, filterMost))
			}
			if strings.ContainsRune(value, 0) {
				return invalid(name, name+" must not contain NUL characters")
			}
			q.Texts[name] = value
		case name == DueFilter:
			due, known := dueQueries[value]
			if !known {
				return invalid(name, name+" must be one of "+strings.Join(dueValues, ", "))
			}
			q.Due = due
		default:
			values := strings.Split(value, ",")
			for _, one := range values {
				if !slices.Contains(filters[at].Values, one) {
					return invalid(name, name+" must be one of "+strings.Join(filters[at].Values, ", ")+", or several of them with commas between them")
				}
			}
			slices.Sort(values)
			q.Filters[name] = slices.Compact(values)
		}
	}
	return nil
}

func invalid(param, message string) *Error {
	return &Error{Code: InvalidParameter, Param: param, Message: message}
}

func noResource(object string) error {
	return &Error{Code: NotFound, Message: fmt.Sprintf("there are no records of type %.50q", object)}
}

// records decodes records.
func records(texts [][]byte) ([]Record, error) {
	all := make([]Record, len(texts))
	for i, text := range texts {
		var err error
		if all[i], err = decodeRecord(text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func decodeRecord(text []byte) (record Record, err error) {
	err = decode(text, &record)
	return record, err
}

func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a double would round large numbers
	return decoder.Decode(into)
}
