package search

import "context"

// The tests are outside this package, because package db imports it.
const (
	KindShift  = kindShift
	OrgShift   = orgShift
	MaxRecords = maxRecords
)

var Resources = resources

func IsBehind(ctx context.Context, i Index) (bool, error) { return i.isBehind(ctx) }
