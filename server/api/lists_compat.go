package api

import (
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// Family is a resource as the dashboard lists it.
type Family struct {
	*resource.Resource
	Filters []Filter
	Columns []Column
}

// Families are all of them.
func Families(document *openapi.Document) []Family {
	var all []Family
	for _, r := range resource.Records() {
		if r.Page != nil {
			all = append(all, Family{r, Filters(document, r), Columns(document, r)})
		}
	}
	return all
}
