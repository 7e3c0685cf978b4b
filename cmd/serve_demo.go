package cmd

import (
	"context"
	"errors"
	"fmt"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/sandbox"
	"govsvc/server/openapi"
	"govsvc/server/transfer"
)

// loadDemo loads the demonstration data into the default organisation, unless that has
// records.
func loadDemo(ctx context.Context, a *app, store *db.DB, document *openapi.Document) error {
	org, err := store.Orgs.ByName(ctx, db.DefaultOrganisation)
	if db.Is(err, db.NotFound) { // it was renamed
		a.note("%s has no organisation %q: the demonstration data is not loaded", oneLine(store.File.Path()), db.DefaultOrganisation)
		return nil
	}
	if err != nil {
		return err
	}
	full, err := hasRecords(ctx, store, org.Org)
	if err != nil {
		return err
	}
	if full {
		a.note("%s already has records: the demonstration data is not loaded", oneLine(store.File.Path()))
		return nil
	}
	report, err := transfer.Import(ctx, store, document, a.actor(org.Org),
		[]transfer.Source{sandbox.Demo()}, transfer.Options{})
	if err != nil {
		return fmt.Errorf("the demonstration data: %w", err)
	}
	a.note("loaded the demonstration data: %d records", report.Records)
	return nil
}

var errFound = errors.New("found")

func hasRecords(ctx context.Context, store *db.DB, org db.Org) (bool, error) {
	for _, object := range resource.Types() {
		err := store.Records(ctx, org, object, func([]byte) error { return errFound })
		if errors.Is(err, errFound) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}
