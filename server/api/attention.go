package api

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"govsvc/db/dashboard"
	"govsvc/db/resource"
)

// AttentionQuery asks for what needs attention. The zero value asks for everything.
type AttentionQuery struct {
	Type    string // "" for all
	Owner   string // "" for all
	Unowned bool   // only records without an owner
	Urgency Urgency
	Cursor  string
	Limit   int // at most 200; 0 is 25
}

// The parts of what needs attention; see package dashboard.
type (
	// Urgency groups what needs attention by the time that is left.
	Urgency = dashboard.Urgency
	// AttentionItem is an open record whose task is due.
	AttentionItem = dashboard.AttentionItem
	// AttentionPage is a page of items.
	AttentionPage = dashboard.AttentionPage
	// AttentionSummary counts what needs attention.
	AttentionSummary = dashboard.AttentionSummary
	// OwnerCount is how many records of an owner need attention.
	OwnerCount = dashboard.OwnerCount
)

// The urgencies, in order.
const (
	UrgencyOverdue = dashboard.Overdue
	UrgencyWeek    = dashboard.DueInWeek
	UrgencyMonth   = dashboard.DueInMonth
	UrgencyQuarter = dashboard.DueInQuarter
)

// Urgencies returns all urgencies, most urgent first.
func Urgencies() []Urgency { return dashboard.Urgencies() }

// Attention reads a page of what needs attention: open records that are overdue or due
// soon. It leaves out the types that the caller's plan does not include.
func Attention(ctx context.Context, c *Caller, q AttentionQuery) (AttentionPage, error) {
	query, err := c.attentionQuery(q)
	if err != nil {
		return AttentionPage{}, err
	}
	return dashboard.ReadAttention(ctx, c.Store, c.Organisation, c.ActorID, query)
}

// CountAttention counts what needs attention, regardless of the urgency, the cursor and
// the limit of the query.
func CountAttention(ctx context.Context, c *Caller, q AttentionQuery) (AttentionSummary, error) {
	query, err := c.attentionQuery(q)
	if err != nil {
		return AttentionSummary{}, err
	}
	return dashboard.CountAttention(ctx, c.Store, c.Organisation, c.ActorID, query)
}

// attentionQuery checks a query.
func (c *Caller) attentionQuery(q AttentionQuery) (dashboard.AttentionQuery, error) {
	query := dashboard.AttentionQuery{Owner: q.Owner, Unowned: q.Unowned, Urgency: q.Urgency, Cursor: q.Cursor, Limit: q.Limit}
	if query.Limit == 0 {
		query.Limit = viewLimit
	}
	if query.Limit < 0 || query.Limit > MaxViewLimit {
		return query, invalid("limit", fmt.Sprintf("limit must be from 1 to %d", MaxViewLimit))
	}
	if q.Urgency != "" && !slices.Contains(Urgencies(), q.Urgency) {
		return query, invalid("due", "due must be one of overdue, week, month, quarter")
	}
	if !utf8.ValidString(q.Owner) || utf8.RuneCountInString(q.Owner) > ownerMost {
		return query, invalid("owner", fmt.Sprintf("owner must have at most %d characters", ownerMost))
	}
	for _, of := range resource.Pages() {
		if of.Attention != nil && c.permitFeature(of.Feature) != nil {
			query.Without = append(query.Without, of.Type)
		}
	}
	if q.Type == "" {
		return query, nil
	}
	of := resource.Find(q.Type)
	if of == nil || of.Attention == nil {
		return query, invalid("type", fmt.Sprintf("%.50q is not a type that needs attention", q.Type))
	}
	query.Types = []string{q.Type}
	return query, nil
}

// ownerMost bounds the characters of an owner.
const ownerMost = 500
