package dashboard

import (
	"context"
	"fmt"

	"govsvc/db"
	"govsvc/db/resource"
)

// MaxChoices bounds the values that a filter offers.
const MaxChoices = 50

// Choice is a value of a filter, with its name for people.
type Choice struct{ Value, Name string }

// Choices returns the values of a filter's column in the list of a resource, least
// first, at most MaxChoices. more reports that there are others. The column is one of
// Resource.Choices. An index serves each step from a value to the next one, so that the
// time does not grow with the records.
func Choices(ctx context.Context, store *db.DB, org db.Organisation, object, column string) (choices []Choice, more bool, err error) {
	r := resource.Find(object)
	if r == nil {
		return nil, false, fmt.Errorf("no resource %q", object)
	}
	query, err := choicesQuery(r, column)
	if err != nil {
		return nil, false, err
	}
	err = store.Each(ctx, func(row db.Scanner) error {
		var c Choice
		err := row.Scan(&c.Value, &c.Name)
		choices = append(choices, c)
		return err
	}, query, org.Org)
	if len(choices) > MaxChoices {
		choices, more = choices[:MaxChoices], true
	}
	return choices, more, err
}

// choicesQuery reads each value of a column once.
func choicesQuery(r *resource.Resource, column string) (string, error) {
	name, known := r.Choices[column]
	if !known {
		return "", noFilter(column)
	}
	of := " FROM " + r.Table + " WHERE org_id = ?1"
	if r.List.Where != "" {
		of += " AND " + r.List.Where
	}
	named := "v.value"
	if name != "" {
		named = "(SELECT " + name + of + " AND " + column + " = v.value ORDER BY created_at DESC LIMIT 1)"
	}
	return fmt.Sprintf(`WITH RECURSIVE v (value) AS (
		SELECT min(%[1]s)%[2]s AND %[1]s > ''
		UNION ALL SELECT (SELECT min(%[1]s)%[2]s AND %[1]s > v.value) FROM v WHERE v.value IS NOT NULL LIMIT %[3]d)
		SELECT v.value, %[4]s FROM v WHERE v.value IS NOT NULL`, column, of, MaxChoices+1, named), nil
}
