// Package integrations has the pages about programs that use the service: API
// keys, webhooks and the API reference.
package integrations

import (
	"net/http"
	"slices"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// How long before its end a key expires soon, and for how long after its making
// it need not have been used.
const (
	keyEndsSoon = 14 * 24 * time.Hour
	keyIsNew    = 7 * 24 * time.Hour
)

// keysOnPage bounds a page of the list of keys.
const keysOnPage = 100

// shownKey is a key as its pages show it.
type shownKey struct {
	db.Key
	State     string   // active, expires_soon, expired or revoked
	Ended     bool     // it is revoked or has expired
	NeverUsed bool     // and is old enough that it should have been
	Unused    []string // scopes that it holds and has never needed, once it was used
}

// keysData is what the list of keys shows.
type keysData struct {
	Organisation db.Organisation
	API          bool // the plan includes the API
	Live         []shownKey
	LivePager    ui.Pager
	Ended        []shownKey
	EndedPager   ui.Pager
	EndedOpen    bool // the disclosure with those that ended
	Empty        ui.Empty
	MayChange    bool
}

// ListKeys lists the organisation's keys.
func ListKeys(r *page.Request) error {
	all, err := r.Store.Keys.List(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return err
	}
	unused, err := r.Store.Usage.UnusedScopes(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return err
	}
	data := keysData{
		Organisation: r.Session.Organisation, API: r.Caller.Entitlements.API,
		Empty: ui.Empty{
			Title: "No key works yet", Advice: "A key lets a program call the API. Give it the scopes that the program needs and no more.",
			Action: nil,
		},
		MayChange: r.May(auth.Administer),
	}
	if data.MayChange {
		data.Empty.Action = &ui.Action{Label: "Mint a key", Path: "/keys/new"}
	}
	for _, key := range all {
		shown := newKeyView(r, key, unused[key.ID])
		if shown.Ended {
			data.Ended = append(data.Ended, shown)
		} else {
			data.Live = append(data.Live, shown)
		}
	}
	data.EndedOpen = r.HTTP.URL.Query().Has("ended")
	data.Live, data.LivePager = paginateKeys(r, data.Live, "page")
	data.Ended, data.EndedPager = paginateKeys(r, data.Ended, "ended")
	return r.Render("keys", "Keys", data)
}

// newKeyView is a key with how it stands now.
func newKeyView(r *page.Request, key db.Key, unused []string) shownKey {
	now := r.Store.Now()
	shown := shownKey{Key: key, State: "active", Ended: key.Ended(now)}
	switch {
	case key.RevokedAt != nil:
		shown.State = "revoked"
	case shown.Ended:
		shown.State = "expired"
	case key.Ended(now.Add(keyEndsSoon)):
		shown.State = "expires_soon"
	}
	if key.LastUsedAt == nil {
		shown.NeverUsed = key.CreatedAt < db.Timestamp(now.Add(-keyIsNew))
	} else {
		shown.Unused = unused
	}
	return shown
}

// paginateKeys is a page of keys, whose number the address has under a name.
func paginateKeys(r *page.Request, list []shownKey, name string) ([]shownKey, ui.Pager) {
	list, pager := ui.Paginate(list, keysOnPage, r.HTTP.URL.Query().Get(name), func(page int) string { return ui.WithQuery("/keys", name, page) })
	pager.One, pager.Many = "key", "keys"
	return list, pager
}

// keyData is what a key's page shows.
type keyData struct {
	Key    shownKey
	Facts  []ui.Fact
	Scopes ui.Table
	Rotate *ui.Form
	Revoke ui.Action
	// MayChange: the user may rotate and revoke it.
	MayChange bool
}

// ShowKey shows one key.
func ShowKey(r *page.Request) error {
	data, err := loadKey(r)
	if err != nil {
		return err
	}
	return r.Render("key", data.Key.Name, data)
}

func loadKey(r *page.Request) (*keyData, error) {
	stored, err := r.Store.Keys.ByID(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if stored == nil || stored.Org != r.Session.Organisation.Org {
		return nil, &page.NotFound
	}
	unused, err := r.Store.Usage.UnusedScopes(r.Context(), stored.Org)
	if err != nil {
		return nil, err
	}
	key := newKeyView(r, stored.Key, unused[stored.ID])
	return &keyData{
		Key: key, Facts: keyFacts(r, key), Scopes: keyScopes(r, key), Rotate: rotateForm(key), MayChange: r.May(auth.Administer),
		Revoke: ui.Action{
			Label: "Revoke", Path: ui.Path("keys", key.ID, "revoke"), Post: true, Danger: true,
			Ask: "Programs that use this key are refused at once. It can't be brought back.", About: "the key " + key.Name,
		},
	}, nil
}

func keyFacts(r *page.Request, key shownKey) []ui.Fact {
	terms := r.Caller.Entitlements
	facts := []ui.Fact{
		{Label: "State", Kind: ui.Badge, Value: key.State},
		{Label: "Kind", Kind: ui.Badge, Value: key.Kind},
		{Label: "Starts with", Kind: ui.Code, Value: key.Prefix},
		{Label: "Made", Kind: ui.Time, Value: key.CreatedAt},
		orNever("Last used", key.LastUsedAt),
		orNever("Expires", key.ExpiresAt),
		{Label: "Requests a minute", Value: limitOf(key.PerMinute, terms.PerMinute)},
		{Label: "Requests in 24 hours", Value: limitOf(key.PerDay, terms.PerDay)},
	}
	if key.RevokedAt != nil {
		facts = slices.Insert(facts, 1, ui.Fact{Label: "Revoked", Kind: ui.Time, Value: key.RevokedAt})
	}
	return facts
}

// orNever is a fact about an instant.
func orNever(label string, at *string) ui.Fact {
	if at == nil {
		return ui.Fact{Label: label, Value: "Never"}
	}
	return ui.Fact{Label: label, Kind: ui.Time, Value: at}
}

// limitOf is a key's own limit, or that of the plan.
func limitOf(own *int, plan int) string {
	if own != nil {
		return ui.FormatNumber(*own)
	}
	return ui.FormatNumber(plan) + " (the plan's)"
}

// keyScopes lists what the key may do, and what of it it has never done.
func keyScopes(r *page.Request, key shownKey) ui.Table {
	table := ui.Table{
		Caption: "Scopes of this key",
		Columns: []ui.Column{{Label: "Scope", Kind: ui.Code}, {Label: "Lets it", Kind: ui.Long}, {Label: "So far", Kind: ui.Badge}},
	}
	for _, scope := range key.Scopes {
		used := "used"
		switch {
		case slices.Contains(key.Unused, scope) || key.NeverUsed:
			used = "never_used"
		case key.LastUsedAt == nil:
			used = "not_yet"
		}
		table.Rows = append(table.Rows, ui.Row{Cells: []any{scope, scopeDescription(r, scope), used}})
	}
	return table
}

// RevokeKey ends a key at once.
func RevokeKey(r *page.Request) error {
	data, err := loadKey(r)
	if err != nil {
		return err
	}
	if _, err := r.Store.Keys.Revoke(r.Context(), r.Actor(), data.Key.ID); err != nil {
		return err
	}
	return r.RedirectWithMessage("/keys", "The key "+data.Key.Name+" is revoked. It is refused from now on.")
}

// overlaps are how long what was rotated still works, as choices.
var overlaps = []ui.Option{
	{Value: "0s", Label: "Not at all: it ends now"}, {Value: "1h", Label: "1 hour"}, {Value: "24h", Label: "24 hours"}, {Value: "168h", Label: "7 days"},
}

// overlap is the choice of the sent form.
func overlap(r *page.Request) (time.Duration, error) {
	sent := r.Value("overlap")
	if !slices.ContainsFunc(overlaps, func(o ui.Option) bool { return o.Value == sent }) {
		return 0, &db.Error{Code: db.Invalid, Param: "overlap", Message: "choose one of the times"}
	}
	return time.ParseDuration(sent)
}

func rotateForm(key shownKey) *ui.Form {
	return &ui.Form{
		Action: ui.Path("keys", key.ID, "rotate"), Submit: "Mint the successor",
		Fields: []*ui.Field{{
			Name: "overlap", Label: "The old key still works for", Type: "select", Value: "24h", Options: overlaps, Required: true,
			Hint: "Time to put the new key in its place.",
		}},
	}
}

// RotateKey mints a key's successor and leads to where it is shown, once.
func RotateKey(r *page.Request) error {
	data, err := loadKey(r)
	if err != nil {
		return err
	}
	if data.Key.Ended {
		return page.NewProblem(http.StatusConflict, "This key has ended already. Mint a new one.")
	}
	overlap, err := overlap(r)
	if err != nil {
		return r.RenderRefused(data.Rotate, err, "key", data.Key.Name, data)
	}
	made, plain, err := r.Store.Keys.Rotate(r.Context(), r.Actor(), data.Key.ID, overlap)
	if err != nil {
		return err
	}
	return redirectToCreatedKey(r, mintedKey{Key: made, Plain: plain, Former: data.Key.Name, Until: db.Timestamp(r.Store.Now().Add(overlap)), Overlaps: overlap > 0})
}
