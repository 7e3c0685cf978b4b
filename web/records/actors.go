package records

import (
	"slices"
	"strings"

	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// ActorNames returns the names of actors of the audit log: users, keys and the
// command line.
func ActorNames(r *page.Request, actors ...string) (map[string]string, error) {
	names := map[string]string{}
	for _, actor := range actors {
		names[actor] = actor
	}
	if _, ok := names["system"]; ok {
		names["system"] = "Command line"
	}
	users, err := r.Auth.Users.List(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return nil, err
	}
	for _, user := range users {
		if _, ok := names[user.ID]; ok {
			names[user.ID] = user.Name
		}
	}
	if err := nameRemovedUsers(r, names); err != nil {
		return nil, err
	}
	isKey := func(actor string) bool { return strings.HasPrefix(actor, "key:") }
	if !slices.ContainsFunc(actors, isKey) {
		return names, nil
	}
	keys, err := r.Store.Keys.List(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if _, ok := names["key:"+key.ID]; ok {
			names["key:"+key.ID] = "Key " + key.Name
		}
	}
	return names, nil
}

// nameRemovedUsers adds the names of users who are no longer members of the organisation,
// from the audit log.
func nameRemovedUsers(r *page.Request, names map[string]string) error {
	var missing []api.Subject
	for actor, name := range names {
		if actor == name && actor != "" && !strings.HasPrefix(actor, "key:") {
			missing = append(missing, api.Subject{Type: "user", ID: actor})
		}
	}
	if len(missing) == 0 {
		return nil
	}
	found, err := api.SubjectNames(r.Context(), r.Caller, missing)
	for subject, record := range found {
		names[subject.ID] = ui.Text(record["name"])
	}
	return err
}

// ActorsNamed returns the ids of the actors whose name contains a text: members of the
// organisation, its keys and the command line.
func ActorsNamed(r *page.Request, text string) ([]string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return nil, nil
	}
	var actors []string
	add := func(id, name string) {
		if strings.Contains(strings.ToLower(name), text) {
			actors = append(actors, id)
		}
	}
	add("system", "Command line")
	users, err := r.Auth.Users.List(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return nil, err
	}
	for _, user := range users {
		add(user.ID, user.Name)
	}
	keys, err := r.Store.Keys.List(r.Context(), r.Session.Organisation.Org)
	for _, key := range keys {
		add("key:"+key.ID, "Key "+key.Name)
	}
	return actors, err
}

// ActorNamesOf returns the names of the actors of a list.
func ActorNamesOf[T any](r *page.Request, list []T, actor func(T) string) (map[string]string, error) {
	all := make([]string, len(list))
	for i, one := range list {
		all[i] = actor(one)
	}
	return ActorNames(r, all...)
}

// EventActors returns the names of the actors of events.
func EventActors(r *page.Request, events []api.AuditEvent) (map[string]string, error) {
	return ActorNamesOf(r, events, func(event api.AuditEvent) string { return event.Actor })
}
