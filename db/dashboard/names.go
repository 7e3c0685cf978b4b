package dashboard

import (
	"context"
	"slices"

	"govsvc/db"
	"govsvc/db/resource"
)

// RecordRef identifies a record.
type RecordRef struct{ Type, ID string }

// RecordNames returns the names of records, as the dashboard shows them. It leaves out
// records that do not exist, and those of types that the dashboard has no pages for.
func RecordNames(ctx context.Context, store *db.DB, org db.Org, refs []RecordRef) (map[RecordRef]string, error) {
	names := map[RecordRef]string{}
	for _, of := range resource.Pages() {
		var ids []any
		for _, ref := range refs {
			if ref.Type == of.Type && !slices.Contains(ids, any(ref.ID)) {
				ids = append(ids, ref.ID)
			}
		}
		for chunk := range slices.Chunk(ids, namesAtOnce) {
			args := append([]any{org}, chunk...)
			for len(args) <= namesAtOnce { // one statement for all numbers of records
				args = append(args, nil)
			}
			err := store.Each(ctx, func(row db.Scanner) error {
				var id, name string
				err := row.Scan(&id, &name)
				names[RecordRef{of.Type, id}] = name
				return err
			}, "SELECT id, "+nameSQL(of)+" FROM "+of.Table+" WHERE org_id = ? AND id IN "+namesList, args...)
			if err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}

// namesAtOnce is how many names one statement reads.
const namesAtOnce = 20

// namesList has a parameter for each of them.
const namesList = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
