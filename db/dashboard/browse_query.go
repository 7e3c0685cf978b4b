package dashboard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/db/search"
	"govsvc/db/sqlite"
)

// browsing is a query that is being run.
type browsing struct {
	*resource.Resource
	store *db.DB
	pool  *sqlite.Pool
	org   db.Organisation
	words []string
	list  string // identifies the order in its cursors
	key   string // the expression that the order compares
	down  bool
	light bool   // an index serves the query; others run as searches
	where string // conditions with their arguments; ?1 is the organisation
	args  []any

	place position // where the page starts; zero at the end of the list
	back  bool     // the page ends there
}

// position is a record's place in an order.
type position struct {
	key any // int64, float64 or string
	id  string
}

func newBrowsing(ctx context.Context, store *db.DB, org db.Organisation, object string, q BrowseQuery) (*browsing, error) {
	r := resource.Find(object)
	if r == nil || r.List.OrderBy == "" {
		return nil, fmt.Errorf("records of type %q have no list", object)
	}
	b := &browsing{store: store, org: org, Resource: r, words: q.Words, args: []any{org.Org}}
	var err error
	if b.key, b.down, err = order(r, q.Sort); err != nil {
		return nil, err
	}
	b.list = "browse " + object + " " + q.Sort
	if b.List.Where != "" {
		b.add(b.List.Where)
	}
	if r.Linked {
		b.where += archivedCondition(r, q.Archived)
	}
	filters, err := b.exact(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		if err := b.filter(name, filters[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(q.Texts)) {
		if _, isExact := filters[name]; !isExact {
			b.contains(filterColumn(r, name), q.Texts[name])
		}
	}
	if err := b.due(q.Due); err != nil {
		return nil, err
	}
	if q.UpdatedSince != "" {
		b.add("updated_at >= ?", q.UpdatedSince)
	}
	for _, word := range q.Words {
		b.search(word)
	}
	b.light = isLight(r, filters, q)
	return b, nil
}

// archivedCondition returns the condition on archived records. An organisation without any
// needs one look for all rows.
func archivedCondition(r *resource.Resource, only bool) string {
	archived := "archived_records WHERE org_id = ?1 AND record_type = '" + r.Type + "'"
	if only {
		return " AND id IN (SELECT record_id FROM " + archived + ")"
	}
	return " AND (NOT EXISTS (SELECT 1 FROM " + archived + ") OR NOT EXISTS (SELECT 1 FROM " + archived + " AND record_id = " + r.Table + ".id))"
}

// contains adds the condition that a column contains a text. The index of the search
// finds the candidates if it has the column, by the first words of the text.
func (b *browsing) contains(column, text string) {
	const most = 8
	b.add(column+` LIKE ? ESCAPE '\'`, pattern(text))
	if words := strings.Fields(text); slices.Contains(b.Searched, column) {
		b.words = append(slices.Clip(b.words), words[:min(len(words), most)]...)
	}
}

// isLight reports whether an index serves the query, so that its time does not grow
// with the data.
func isLight(r *resource.Resource, filters map[string][]string, q BrowseQuery) bool {
	if len(q.Words) > 0 || q.Sort != "" || q.UpdatedSince != "" || q.Archived || q.Due != (Due{}) || len(filters) > 1 {
		return false
	}
	for name := range q.Texts {
		if _, isExact := filters[name]; !isExact {
			return false
		}
	}
	for name, values := range filters {
		if _, indexed := r.List.Filters[name]; !indexed || len(values) != 1 {
			return false
		}
	}
	return true
}

// exact returns the filters of a query with those texts that are the value of a
// record.
func (b *browsing) exact(ctx context.Context, q BrowseQuery) (map[string][]string, error) {
	filters := maps.Clone(q.Filters)
	for name, text := range q.Texts {
		column := filterColumn(b.Resource, name)
		if column == "" {
			return nil, noFilter(name)
		}
		if _, indexed := b.Choices[column]; !indexed {
			continue
		}
		var known bool
		err := b.store.Row(ctx, "SELECT EXISTS (SELECT 1 FROM "+b.Table+" WHERE org_id = ?1"+b.where+" AND "+column+" = ?2)", b.org.Org, text).Scan(&known)
		if err != nil {
			return nil, db.StoreError(err)
		}
		if known {
			if filters == nil {
				filters = map[string][]string{}
			}
			filters[name] = []string{text}
		}
	}
	return filters, nil
}

func noFilter(name string) error {
	return &db.Error{Code: db.Invalid, Param: name, Message: name + " is not a filter of this list"}
}

// add adds a condition. Each "?" of it is numbered, so that the statement may
// have others before it.
func (b *browsing) add(condition string, values ...any) {
	b.where += " AND "
	for _, value := range values {
		before, after, _ := strings.Cut(condition, "?")
		b.where += before + b.argument(value)
		condition = after
	}
	b.where += condition
}

// argument adds an argument and returns its name in the statement.
func (b *browsing) argument(value any) string {
	b.args = append(b.args, value)
	return "?" + strconv.Itoa(len(b.args))
}

func (b *browsing) filter(name string, values []string) error {
	column := filterColumn(b.Resource, name)
	if column == "" {
		return noFilter(name)
	}
	if len(values) == 1 {
		b.add(column+" = ?", values[0])
		return nil
	}
	args := make([]any, len(values))
	for i, value := range values {
		args[i] = value
	}
	// with several values, an index does not have the order of the list: use none
	b.add("+"+column+" IN (?"+strings.Repeat(", ?", max(len(values)-1, 0))+")", args...)
	return nil
}

// search adds the condition that a text contains the word in one of its spellings.
func (b *browsing) search(word string) {
	var places []string
	for _, form := range search.Spellings(word) {
		number := b.argument(pattern(form))
		for _, text := range b.Searched {
			places = append(places, text+" LIKE "+number+` ESCAPE '\'`)
		}
	}
	b.where += " AND (" + strings.Join(places, " OR ") + ")"
}

var escapeLike = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func pattern(word string) string { return "%" + escapeLike.Replace(word) + "%" }

// source returns the table, or the candidates of the search index in it.
func (b *browsing) source() string {
	if candidates := search.Candidates(b.Resource, int64(b.org.Org), b.words, b.argument); candidates != "" {
		return "(" + candidates + ") CROSS JOIN " + b.Table + " ON seq = place"
	}
	return b.Table
}

// The cursors of this list contain the direction, the type of the key and the key.
const (
	forwards  = "f"
	backwards = "b"
)

func (b *browsing) cursor(way string, p position) string {
	text := fmt.Sprint(p.key)
	switch p.key.(type) {
	case int64:
		text = "i" + text
	case float64:
		text = "r" + text
	default:
		text = "t" + text
	}
	return b.store.Cursors.Encode(b.list, b.org, way+text, p.id)
}

// start sets the place and the direction from a cursor.
func (b *browsing) start(cursor string) error {
	if cursor == "" {
		return nil
	}
	decoded, id, err := b.store.Cursors.Decode(b.list, b.org, cursor)
	if err != nil {
		return err
	}
	text := decoded[2:] // Decode accepts only what the method cursor has encoded
	b.back, b.place.id = decoded[:1] == backwards, id
	switch decoded[1] {
	case 'i':
		b.place.key, err = strconv.ParseInt(text, 10, 64)
	case 'r':
		b.place.key, err = strconv.ParseFloat(text, 64)
	default:
		b.place.key = text
	}
	return err
}

// sortedText is the number of characters of a text that an order compares. Rows with
// the same characters are ordered by id. The bound keeps cursors short.
const sortedText = 60

// last is a text that sorts after all others.
const last = "char(1114111)"

// sortKey returns the expression that an order compares. It is never null. A record
// without a value comes last in both directions.
func sortKey(s resource.Sort, descending bool) string {
	least, greatest := "''", last
	if s.Kind == resource.SortNumber || s.Kind == resource.SortRank {
		least, greatest = "-9e999", "9e999"
	}
	none := greatest
	if descending {
		none = least
	}
	switch s.Kind {
	case resource.SortText:
		return "lower(substr(coalesce(" + s.Member + ", " + none + "), 1, " + strconv.Itoa(sortedText) + "))"
	case resource.SortTime, resource.SortNumber:
		return "coalesce(" + s.Member + ", " + none + ")"
	case resource.SortRank:
		var key strings.Builder
		key.WriteString("CASE " + s.Member)
		for i, value := range s.Values {
			key.WriteString(" WHEN '" + value + "' THEN " + strconv.Itoa(i+1))
		}
		return key.String() + " ELSE " + none + " END"
	default:
		return s.Member
	}
}

// order finds an order by its name, with "-" before it for the greatest first; ""
// is that of the list.
func order(r *resource.Resource, name string) (key string, descending bool, err error) {
	if name == "" {
		return r.List.OrderBy, !r.List.Ascending, nil
	}
	member, descending := strings.CutPrefix(name, "-")
	at := slices.IndexFunc(r.Sorts, func(s resource.Sort) bool { return s.Member == member })
	if at < 0 {
		return "", false, &db.Error{Code: db.Invalid, Param: "sort", Message: "sort must be one of " + strings.Join(r.SortNames(), ", ") + ", with - before it for the greatest first"}
	}
	return sortKey(r.Sorts[at], descending), descending, nil
}

// filterColumn finds the column that a filter compares; "" if there is no such
// filter.
func filterColumn(r *resource.Resource, filter string) string {
	if column, known := r.List.Filters[filter]; known {
		return column
	}
	if slices.Contains(r.Filters, filter) || filter != "" && filter == r.OwnerMember() {
		return filter
	}
	return ""
}

// statement reads the records after the place or, backwards, before it: one more
// than the limit.
func (b *browsing) statement(limit int) (string, []any) {
	order, beyond := "", ">"
	if b.down != b.back {
		order, beyond = " DESC", "<"
	}
	where, args := b.where, slices.Clone(b.args)
	if b.place.id != "" {
		where += " AND (" + b.key + ", id) " + beyond + " (?, ?)"
		args = append(args, b.place.key, b.place.id)
	}
	// MATERIALIZED puts the search into the first step of the statement, which the
	// end of the context interrupts.
	return "WITH p AS MATERIALIZED (SELECT " + b.key + " AS key, id FROM " + b.Table + " WHERE org_id = ?1" + where +
		" ORDER BY 1" + order + ", id" + order + " LIMIT ?) SELECT p.key, p.id, r.record FROM p CROSS JOIN " +
		b.Type + "_records r ON r.org_id = ?1 AND r.id = p.id ORDER BY p.key" + order + ", p.id" + order, append(args, limit+1)
}
