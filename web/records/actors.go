package records

import (
	"slices"
	"strings"

	"govsvc/server/api"
	"govsvc/web/page"
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
