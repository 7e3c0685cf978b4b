package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/db/search"
	"govsvc/db/sqlite"
)

// Subject is what an event of the audit log is about: a record, an API key, a user.
type Subject struct{ Type, ID string }

// otherNames has the queries of the names of subjects that have no pages of records. ?1
// is the organisation, and ?2 the ids as JSON.
var otherNames = map[string]string{
	"api_key":       "SELECT id, json_object('name', name) FROM api_keys WHERE org_id = ?1 AND id IN (SELECT value FROM json_each(?2))",
	"evidence_pack": "SELECT id, json_object('name', title) FROM evidence_packs WHERE org_id = ?1 AND id IN (SELECT value FROM json_each(?2))",
	"organisation":  "SELECT id, json_object('name', name) FROM organisations WHERE seq = ?1 AND id IN (SELECT value FROM json_each(?2))",
	"user": `SELECT u.id, json_object('name', u.name) FROM memberships m JOIN users u ON u.seq = m.user_seq
		WHERE m.org_id = ?1 AND u.id IN (SELECT value FROM json_each(?2))`,
	"webhook_subscription": `SELECT id, json_object('name', coalesce(description, url)) FROM webhook_subscriptions
		WHERE org_id = ?1 AND id IN (SELECT value FROM json_each(?2))`,
	"kpi_checkin": `SELECT c.id, json_object('name', k.metric_name, 'period_start', c.period_start) FROM kpis k JOIN kpi_checkins c ON c.kpi_seq = k.seq
		WHERE k.org_id = ?1 AND c.id IN (SELECT value FROM json_each(?2))`,
}

// nameMembers returns the members that name the records of a resource, as the arguments
// of json_object.
func nameMembers(r *resource.Resource) string {
	pairs := make([]string, len(r.Page.Names))
	for i, member := range r.Page.Names {
		pairs[i] = "'" + member + "', " + member
	}
	return strings.Join(pairs, ", ")
}

// ReadNames reads the members that name subjects, as JSON. A subject that was removed has
// the name that the audit log has. Subjects without a known name are left out.
func ReadNames(ctx context.Context, store *db.DB, org db.Org, subjects []Subject) (map[Subject][]byte, error) {
	ids, names := map[string][]string{}, map[Subject][]byte{}
	for _, s := range subjects {
		if s.ID != "" && !slices.Contains(ids[s.Type], s.ID) {
			ids[s.Type] = append(ids[s.Type], s.ID)
		}
	}
	for typeName, wanted := range ids {
		query := otherNames[typeName]
		if r := resource.Find(typeName); r != nil && r.Page != nil {
			query = "SELECT id, json_object(" + nameMembers(r) + ") FROM " + r.Table + " WHERE org_id = ?1 AND id IN (SELECT value FROM json_each(?2))"
		}
		if query != "" {
			if err := readNames(ctx, store, query, org, typeName, wanted, names); err != nil {
				return nil, err
			}
		}
		missing := slices.DeleteFunc(slices.Clone(wanted), func(id string) bool { return names[Subject{typeName, id}] != nil })
		if len(missing) == 0 {
			continue
		}
		if err := readNames(ctx, store, loggedNames(typeName), org, typeName, missing, names); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func readNames(ctx context.Context, store *db.DB, query string, org db.Org, typeName string, ids []string, names map[Subject][]byte) error {
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	err = store.Each(ctx, func(row db.Scanner) error {
		var id string
		var name []byte
		err := row.Scan(&id, &name)
		names[Subject{typeName, id}] = name
		return err
	}, query, org, string(list))
	return db.StoreError(err)
}

// loggedEvents bounds the events of a subject that are searched for its name. The first
// one usually has it.
const loggedEvents = 20

// loggedNames returns the query of the names in the audit log.
func loggedNames(typeName string) string {
	member, places := "name", []string{
		"$.metadata.name", "$.metadata.sources[0]", "$.metadata.title",
		"$.metadata.changes.description.to", "$.metadata.changes.url.to", "$.metadata.changes.url.from",
	}
	if r := resource.Find(typeName); r != nil && r.Page != nil {
		member = r.Page.Names[0]
		places = []string{"$.metadata.changes." + member + ".to", "$.metadata.changes." + member + ".from"}
	}
	values := make([]string, len(places))
	for i, place := range places {
		values[i] = "event ->> '" + place + "'"
	}
	return fmt.Sprintf(`SELECT id, json_object('%s', name) FROM (SELECT value AS id, (
			SELECT coalesce(%s, NULL) AS name FROM (
				SELECT seq, event FROM audit_events INDEXED BY audit_events_by_resource
				WHERE resource_id = value AND org_id = ?1 ORDER BY seq LIMIT %d)
			WHERE name IS NOT NULL ORDER BY seq LIMIT 1) AS name
		FROM json_each(?2)) WHERE name IS NOT NULL`, member, strings.Join(values, ", "), loggedEvents)
}

// namedSubjects bounds the subjects that FindNamed returns for each type.
const namedSubjects = 100

// FindNamed returns the ids of the subjects of the audit log whose name or key contains a
// text, at most namedSubjects of each type. It is limited in time, and for each user, as
// the search of a list is. Archived records and superseded versions are included.
func FindNamed(ctx context.Context, store *db.DB, org db.Org, user, text string) ([]string, error) {
	args := []any{org}
	condition := func(columns ...string) string {
		var places []string
		for i, form := range search.Spellings(text) {
			if len(args) == i+1 {
				args = append(args, pattern(form))
			}
			for _, column := range columns {
				places = append(places, fmt.Sprintf(`%s LIKE ?%d ESCAPE '\'`, column, i+2))
			}
		}
		return "(" + strings.Join(places, " OR ") + ")"
	}
	var parts []string
	add := func(table string, columns ...string) {
		parts = append(parts, fmt.Sprintf("SELECT * FROM (SELECT id FROM %s WHERE org_id = ?1 AND %s LIMIT %d)", table, condition(columns...), namedSubjects))
	}
	for _, r := range resource.Pages() {
		add(r.Table, r.Page.Names...)
	}
	add("api_keys", "name")
	add("evidence_packs", "title")
	add("webhook_subscriptions", "description", "url")
	var ids []string
	err := store.Search(ctx, user, func(ctx context.Context, pool *sqlite.Pool) error {
		return pool.EachUncached(ctx, func(row db.Scanner) error {
			var id string
			err := row.Scan(&id)
			ids = append(ids, id)
			return err
		}, strings.Join(parts, " UNION ALL "), args...)
	})
	return ids, err
}
