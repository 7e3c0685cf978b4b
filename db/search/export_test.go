package search

import "context"

// What the tests compare with the tables of package db, which imports this package.
const (
	KindShift  = kindShift
	OrgShift   = orgShift
	MaxRecords = maxRecords
)

var Resources = resources

func IsBehind(ctx context.Context, i Index) (bool, error) { return i.isBehind(ctx) }
