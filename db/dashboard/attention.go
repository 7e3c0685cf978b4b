package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/db/sqlite"
)

// Urgency groups what needs attention by the time that is left.
type Urgency string

// The urgencies, in order. Dates are compared in UTC.
const (
	Overdue      Urgency = "overdue"
	DueInWeek    Urgency = "week"    // today or one of the next 7 days
	DueInMonth   Urgency = "month"   // later, in the next 30 days
	DueInQuarter Urgency = "quarter" // later, in the next 90 days; only where Attention.Days is so long
)

// attentionList identifies the list in its cursors.
const attentionList = "attention"

// Urgencies returns all urgencies, most urgent first.
func Urgencies() []Urgency { return []Urgency{Overdue, DueInWeek, DueInMonth, DueInQuarter} }

// AttentionQuery asks for open records whose task is due; see resource.Attention. The
// zero value asks for those of all types, owners and urgencies.
type AttentionQuery struct {
	Types   []string // nil for all
	Without []string // types that are left out
	Owner   string   // "" for all
	Unowned bool     // only records without an owner
	Urgency Urgency  // "" for all
	Cursor  string   // Next of a page of the same query
	Limit   int
}

// AttentionItem is an open record whose task is due.
type AttentionItem struct {
	Type, ID string
	Name     string
	Due      string // a day or, of an incident, an instant
	Owner    string // "" for none
	Band     string // severity or priority; "" for none
	Status   string
	Urgency  Urgency
	order    attentionPosition
}

// AttentionPage is a page of items: notification clocks first, then by due date.
type AttentionPage struct {
	Items []AttentionItem
	Next  string // "" on the last page
}

// AttentionSummary counts what needs attention.
type AttentionSummary struct {
	Counts map[Urgency]int
	Types  map[string]int
	Total  int
	More   bool         // there are more: each type is counted up to CountedAttention
	Owners []OwnerCount // of all items of the types, by name, regardless of the owner asked for
}

// CountedAttention bounds the counted records of each type. Those that are due first
// count.
const CountedAttention = 1_000

// OwnerCount is how many records of an owner need attention. Name is "" for records
// without an owner.
type OwnerCount struct {
	Name  string
	Count int
}

// attentionPosition is the place of an item in the order of pages.
type attentionPosition struct {
	later bool // comes after the notification clocks
	due   string
	rank  int // of the resource
	seq   int64
}

// ReadAttention reads a page of what needs attention, along an index of each type.
func ReadAttention(ctx context.Context, store *db.DB, org db.Organisation, user string, q AttentionQuery) (AttentionPage, error) {
	r := attentionReader{now: store.Now(), org: org, query: q}
	after, err := r.start(store)
	if err != nil {
		return AttentionPage{}, err
	}
	var page AttentionPage
	err = store.Search(ctx, user, func(ctx context.Context, pool *sqlite.Pool) error {
		page.Items, err = r.read(ctx, pool, after)
		return err
	})
	if err == nil && len(page.Items) > q.Limit {
		page.Items = page.Items[:q.Limit]
		page.Next = r.cursor(store, page.Items[q.Limit-1].order)
	}
	return page, err
}

// CountAttention counts what needs attention, regardless of the urgency, the cursor and
// the limit of the query.
func CountAttention(ctx context.Context, store *db.DB, org db.Organisation, user string, q AttentionQuery) (AttentionSummary, error) {
	q.Urgency = ""
	r := attentionReader{now: store.Now(), org: org, query: q}
	s := AttentionSummary{Counts: map[Urgency]int{}, Types: map[string]int{}}
	owners := map[string]int{}
	err := store.Search(ctx, user, func(ctx context.Context, pool *sqlite.Pool) error {
		for _, of := range r.resources() {
			if err := r.count(ctx, pool, of, &s, owners); err != nil {
				return err
			}
		}
		return nil
	})
	for name, count := range owners {
		s.Owners = append(s.Owners, OwnerCount{name, count})
	}
	slices.SortFunc(s.Owners, func(a, b OwnerCount) int { return strings.Compare(a.Name, b.Name) })
	return s, err
}

// attentionReader reads the records of one query.
type attentionReader struct {
	now   time.Time
	org   db.Organisation
	query AttentionQuery
}

// resources returns the resources of the query, in the order of the pages.
func (r attentionReader) resources() []*resource.Resource {
	all := slices.DeleteFunc(resource.All(), func(of *resource.Resource) bool {
		return of.Attention == nil || slices.Contains(r.query.Without, of.Type) || r.query.Types != nil && !slices.Contains(r.query.Types, of.Type)
	})
	slices.SortFunc(all, compareResources)
	return all
}

// compareResources orders the resources of items that are due at the same time.
func compareResources(a, b *resource.Resource) int {
	if a.Attention.First != b.Attention.First {
		if a.Attention.First {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.ImportOrder, b.ImportOrder)
}

// day returns the day after some days. All days and instants before it are less, as
// texts.
func (r attentionReader) day(days int) string {
	return r.now.UTC().AddDate(0, 0, days).Format(time.DateOnly)
}

// bounds returns where the due dates of an urgency begin and end, for a resource. The
// end is not part of them.
func (r attentionReader) bounds(of *resource.Resource, urgency Urgency) (from, to string) {
	passed := r.day(0)
	if slices.Contains(of.Instants, of.Attention.Due) {
		passed = db.Timestamp(r.now)
	}
	switch urgency {
	case Overdue:
		return "0", passed // a day that is empty has not passed
	case DueInWeek:
		from, to = passed, r.day(8)
	case DueInMonth:
		from, to = r.day(8), r.day(31)
	case DueInQuarter:
		from, to = r.day(31), r.day(91)
	default:
		from, to = "0", r.day(91)
	}
	return from, min(to, r.day(of.Attention.Days+1))
}

// urgencyOf returns the urgency of a due date.
func (r attentionReader) urgencyOf(of *resource.Resource, due string) Urgency {
	for _, urgency := range Urgencies() {
		if _, to := r.bounds(of, urgency); due < to {
			return urgency
		}
	}
	return DueInQuarter
}

// where returns the condition of the records of a resource that need attention, with its
// arguments. ?1 is the organisation, ?2 and ?3 are the bounds of the due date.
func (r attentionReader) where(of *resource.Resource) (string, []any) {
	a := of.Attention
	from, to := r.bounds(of, r.query.Urgency)
	where := " FROM " + of.Table + " WHERE org_id = ?1 AND " + a.OpenSQL() + " AND " + a.DueSQL() + " >= ?2 AND " + a.DueSQL() + " < ?3"
	if of.List.Where != "" {
		where += " AND " + of.List.Where
	}
	return where + unarchived(of), []any{r.org.Org, from, to}
}

// unarchived returns the condition that a record is not archived. It compares the
// sequence number, which every index has.
func unarchived(of *resource.Resource) string {
	if !of.Linked {
		return ""
	}
	return " AND seq NOT IN (SELECT a.seq FROM archived_records x CROSS JOIN " + of.Table + " a ON a.org_id = x.org_id AND a.id = x.record_id" +
		" WHERE x.org_id = ?1 AND x.record_type = '" + of.Type + "')"
}

// owned limits a condition to the owner of the query.
func (r attentionReader) owned(of *resource.Resource, where string, args []any) (string, []any) {
	owner := cmp.Or(of.Attention.Owner, "NULL")
	switch {
	case r.query.Unowned:
		return where + " AND (" + owner + " IS NULL OR " + owner + " = '')", args
	case r.query.Owner != "":
		args = append(args, r.query.Owner)
		return where + " AND " + owner + " = ?" + strconv.Itoa(len(args)), args
	}
	return where, args
}

// ownerSQL returns the owner of a record as an expression; "" for none.
func ownerSQL(of *resource.Resource) string {
	return "coalesce(" + cmp.Or(of.Attention.Owner, "NULL") + ", '')"
}

// read reads the items after a position, one more than the limit.
func (r attentionReader) read(ctx context.Context, pool *sqlite.Pool, after *attentionPosition) ([]AttentionItem, error) {
	var items []AttentionItem
	for rank, of := range r.resources() {
		query, args := r.statement(of, rank, after)
		if query == "" {
			continue
		}
		err := pool.Each(ctx, func(row db.Scanner) error {
			item := AttentionItem{Type: of.Type, order: attentionPosition{later: !of.Attention.First, rank: rank}}
			if err := row.Scan(&item.order.seq, &item.ID, &item.Due, &item.Owner, &item.Band, &item.Status, &item.Name); err != nil {
				return err
			}
			item.order.due, item.Urgency = item.Due, r.urgencyOf(of, item.Due)
			items = append(items, item)
			return nil
		}, query, args...)
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(items, func(a, b AttentionItem) int { return a.order.compare(b.order) })
	return items[:min(len(items), r.query.Limit+1)], nil
}

func (p attentionPosition) compare(q attentionPosition) int {
	if p.later != q.later {
		if p.later {
			return 1
		}
		return -1
	}
	return cmp.Or(strings.Compare(p.due, q.due), cmp.Compare(p.rank, q.rank), cmp.Compare(p.seq, q.seq))
}

// statement reads the items of a resource after a position, one more than the limit. It
// returns "" if there are none after it.
func (r attentionReader) statement(of *resource.Resource, rank int, after *attentionPosition) (string, []any) {
	a := of.Attention
	where, args := r.where(of)
	where, args = r.owned(of, where, args)
	if after != nil && after.later && a.First || args[1].(string) >= args[2].(string) { // the bounds are empty
		return "", nil
	}
	if after != nil && after.later != a.First { // the position is among the same part of the order
		switch {
		case rank < after.rank:
			args = append(args, after.due)
			where += " AND " + a.DueSQL() + " > ?" + strconv.Itoa(len(args))
		case rank == after.rank:
			args = append(args, after.due, after.seq)
			where += " AND (" + a.DueSQL() + ", seq) > (?" + strconv.Itoa(len(args)-1) + ", ?" + strconv.Itoa(len(args)) + ")"
		default:
			args = append(args, after.due)
			where += " AND " + a.DueSQL() + " >= ?" + strconv.Itoa(len(args))
		}
	}
	args = append(args, r.query.Limit+1)
	return "SELECT seq, id, " + a.DueSQL() + ", " + ownerSQL(of) + ", " + "coalesce(" + cmp.Or(a.Band, "NULL") + ", ''), status, " + nameSQL(of) + where +
		" ORDER BY " + a.DueSQL() + ", seq LIMIT ?" + strconv.Itoa(len(args)), args
}

// nameSQL returns the name of a record as an expression: the first of its names that
// has a value.
func nameSQL(of *resource.Resource) string {
	names := make([]string, len(of.Page.Names))
	for i, name := range of.Page.Names {
		names[i] = "nullif(trim(" + name + "), '')"
	}
	return "coalesce(" + strings.Join(append(names, "''"), ", ") + ")"
}

// count adds the records of a resource to a summary, and to the number of each owner.
func (r attentionReader) count(ctx context.Context, pool *sqlite.Pool, of *resource.Resource, s *AttentionSummary, owners map[string]int) error {
	where, args := r.where(of)
	counts, err := r.countOwners(ctx, pool, of, where, args)
	if err != nil {
		return err
	}
	for owner, n := range counts {
		owners[owner] += n[0] + n[1] + n[2] + n[3]
	}
	if r.query.Owner != "" || r.query.Unowned {
		where, args = r.owned(of, where, args)
		if counts, err = r.countOwners(ctx, pool, of, where, args); err != nil {
			return err
		}
	}
	for _, n := range counts {
		for i, urgency := range Urgencies() {
			s.Counts[urgency] += n[i]
			s.Types[of.Type] += n[i]
			s.Total += n[i]
		}
	}
	s.More = s.More || s.Types[of.Type] > CountedAttention
	return nil
}

// countOwners counts the records that a condition selects, by owner and urgency: those
// that are due first, up to CountedAttention and one more.
func (r attentionReader) countOwners(ctx context.Context, pool *sqlite.Pool, of *resource.Resource, where string, args []any) (map[string][4]int, error) {
	query, args := r.countStatement(of, where, args)
	counts := map[string][4]int{}
	err := pool.Each(ctx, func(row db.Scanner) error {
		var owner string
		var n [4]int
		err := row.Scan(&owner, &n[0], &n[1], &n[2], &n[3])
		counts[owner] = n
		return err
	}, query, args...)
	return counts, err
}

func (r attentionReader) countStatement(of *resource.Resource, where string, args []any) (string, []any) {
	var counts []string
	for _, urgency := range Urgencies() {
		from, to := r.bounds(of, urgency)
		args = append(args, from, to)
		counts = append(counts, fmt.Sprintf("sum(due >= ?%d AND due < ?%d)", len(args)-1, len(args)))
	}
	due := of.Attention.DueSQL()
	return "SELECT owner, " + strings.Join(counts, ", ") + " FROM (SELECT " + ownerSQL(of) + " AS owner, " + due + " AS due" + where +
		" ORDER BY " + due + " LIMIT " + strconv.Itoa(CountedAttention+1) + ") GROUP BY owner", args
}

// start returns the position of the query's cursor; nil is the start of the order.
func (r attentionReader) start(store *db.DB) (*attentionPosition, error) {
	if r.query.Cursor == "" {
		return nil, nil //nolint:nilnil // a query without a cursor has no position
	}
	due, place, err := store.Cursors.Decode(attentionList, r.org, r.query.Cursor)
	if err != nil {
		return nil, err
	}
	of, seq, _ := strings.Cut(place, " ")
	after := &attentionPosition{due: due}
	after.rank = slices.IndexFunc(r.resources(), func(other *resource.Resource) bool { return other.Type == of })
	if after.rank < 0 {
		return nil, db.ErrCursor
	}
	after.later = !r.resources()[after.rank].Attention.First
	after.seq, err = strconv.ParseInt(seq, 10, 64)
	return after, err
}

// cursor encodes the position of the last item of a page.
func (r attentionReader) cursor(store *db.DB, last attentionPosition) string {
	of := r.resources()[last.rank]
	return store.Cursors.Encode(attentionList, r.org, last.due, of.Type+" "+strconv.FormatInt(last.seq, 10))
}
