package api

import (
	"context"
	"strings"

	"govsvc/db"
)

// CreateIncident declares an incident (specification, Incident writes).
func CreateIncident(ctx context.Context, c *Caller, in Input) (Answer, error) {
	if err := oneLineTitle(in); err != nil {
		return Answer{}, err
	}
	return c.write(ctx, 201, "incident", func(tx *db.Tx) ([]byte, error) {
		return tx.CreateIncident(in.record(nil))
	})
}

// UpdateIncident changes an incident; a change of its status goes on its
// timeline.
func UpdateIncident(ctx context.Context, c *Caller, in Input) (Answer, error) {
	if err := oneLineTitle(in); err != nil {
		return Answer{}, err
	}
	return c.write(ctx, 200, "incident", func(tx *db.Tx) ([]byte, error) {
		return tx.UpdateIncident(in.ID, in.record(nil))
	})
}

// lineEnds are what Unicode takes for the end of a line.
const lineEnds = "\n\v\f\r\u0085\u2028\u2029"

// oneLineTitle holds a title to one line (specification, Incident writes). The
// pieces mark such a title with x-one-line, and the published document has a
// pattern for it.
func oneLineTitle(in Input) error {
	title, _ := in.Body["title"].(string)
	if strings.ContainsAny(strings.TrimSpace(title), lineEnds) {
		return invalid("title", "title must be one line")
	}
	return nil
}
