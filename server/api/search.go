package api

import (
	"context"

	"govsvc/db/dashboard"
	"govsvc/db/resource"
)

// SearchGroup has the records of a resource that a search of all records finds, best
// first.
type SearchGroup struct {
	Resource *resource.Resource
	Records  []Record
	Total    int  // records that match
	More     bool // there are more than Total
}

// SearchRecords searches the records of all types that the caller's plan includes. A
// record matches as in the list of its type. It returns at most limit records of a type.
func SearchRecords(ctx context.Context, c *Caller, text string, limit int) ([]SearchGroup, error) {
	words, err := wordsOf(text)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	q := dashboard.SearchQuery{Words: words, User: c.ActorID, Limit: limit, Bytes: viewBytes}
	for _, r := range resource.Pages() {
		if c.permitFeature(r.Feature) == nil {
			q.Types = append(q.Types, r.Type)
		}
	}
	found, err := dashboard.SearchRecords(ctx, c.Store, c.Organisation, q)
	if err != nil {
		return nil, err
	}
	groups := make([]SearchGroup, len(found))
	for i, group := range found {
		groups[i] = SearchGroup{Resource: resource.Find(group.Type), Total: group.Total, More: group.More}
		if groups[i].Records, err = records(group.Records); err != nil {
			return nil, err
		}
	}
	return groups, nil
}
