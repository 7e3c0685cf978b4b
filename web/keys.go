package web

import (
	"net/http"
	"slices"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
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

// keys lists the organisation's keys.
func (v *visit) keys() error {
	all, err := v.Store.Keys(v.r.Context(), v.session.Organisation.Org)
	if err != nil {
		return err
	}
	unused, err := v.Store.UnusedScopes(v.r.Context(), v.session.Organisation.Org)
	if err != nil {
		return err
	}
	data := keysData{
		Organisation: v.session.Organisation, API: v.caller.Entitlements.API,
		Empty: ui.Empty{
			Title: "No key works yet", Advice: "A key lets a program call the API. Give it the scopes that the program needs and no more.",
			Action: nil,
		},
		MayChange: v.may(auth.Administer),
	}
	if data.MayChange {
		data.Empty.Action = &ui.Action{Label: "Mint a key", Path: "/keys/new"}
	}
	for _, key := range all {
		shown := v.shownKey(key, unused[key.ID])
		if shown.Ended {
			data.Ended = append(data.Ended, shown)
		} else {
			data.Live = append(data.Live, shown)
		}
	}
	data.EndedOpen = v.r.URL.Query().Has("ended")
	data.Live, data.LivePager = v.pageOfKeys(data.Live, "page")
	data.Ended, data.EndedPager = v.pageOfKeys(data.Ended, "ended")
	return v.render("keys", "Keys", data)
}

// shownKey is a key with how it stands now.
func (v *visit) shownKey(key db.Key, unused []string) shownKey {
	now := v.Store.Now()
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

// pageOfKeys is a page of keys, whose number the address has under a name.
func (v *visit) pageOfKeys(list []shownKey, name string) ([]shownKey, ui.Pager) {
	list, pager := ui.Paginate(list, keysOnPage, v.r.URL.Query().Get(name), func(page int) string { return ui.WithQuery("/keys", name, page) })
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

// key shows one key.
func (v *visit) key() error {
	data, err := v.keyData()
	if err != nil {
		return err
	}
	return v.render("key", data.Key.Name, data)
}

func (v *visit) keyData() (*keyData, error) {
	stored, err := v.Store.KeyByID(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if stored == nil || stored.Org != v.session.Organisation.Org {
		return nil, &nothingHere
	}
	unused, err := v.Store.UnusedScopes(v.r.Context(), stored.Org)
	if err != nil {
		return nil, err
	}
	key := v.shownKey(stored.Key, unused[stored.ID])
	return &keyData{
		Key: key, Facts: v.keyFacts(key), Scopes: v.keyScopes(key), Rotate: rotateForm(key), MayChange: v.may(auth.Administer),
		Revoke: ui.Action{
			Label: "Revoke", Path: ui.Path("keys", key.ID, "revoke"), Post: true, Danger: true,
			Ask: "Programs that use this key are refused at once. It can't be brought back.", About: "the key " + key.Name,
		},
	}, nil
}

func (v *visit) keyFacts(key shownKey) []ui.Fact {
	terms := v.caller.Entitlements
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
func (v *visit) keyScopes(key shownKey) ui.Table {
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
		table.Rows = append(table.Rows, ui.Row{Cells: []any{scope, v.grants(scope), used}})
	}
	return table
}

// revokeKey ends a key at once.
func (v *visit) revokeKey() error {
	data, err := v.keyData()
	if err != nil {
		return err
	}
	if _, err := v.Store.RevokeKey(v.r.Context(), v.by(), data.Key.ID); err != nil {
		return err
	}
	v.flash("The key " + data.Key.Name + " is revoked. It is refused from now on.")
	v.redirect("/keys")
	return nil
}

// overlaps are how long what was rotated still works, as choices.
var overlaps = []ui.Option{
	{Value: "0s", Label: "Not at all: it ends now"}, {Value: "1h", Label: "1 hour"}, {Value: "24h", Label: "24 hours"}, {Value: "168h", Label: "7 days"},
}

// overlap is the choice of the sent form.
func (v *visit) overlap() (time.Duration, error) {
	sent := v.value("overlap")
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

// rotateKey mints a key's successor and leads to where it is shown, once.
func (v *visit) rotateKey() error {
	data, err := v.keyData()
	if err != nil {
		return err
	}
	if data.Key.Ended {
		return &problem{http.StatusConflict, titles[http.StatusConflict], "This key has ended already. Mint a new one."}
	}
	overlap, err := v.overlap()
	if err != nil {
		return v.again(data.Rotate, err, "key", data.Key.Name, data)
	}
	made, plain, err := v.Store.RotateKey(v.r.Context(), v.by(), data.Key.ID, overlap)
	if err != nil {
		return err
	}
	return v.showMinted(mintedKey{Key: made, Plain: plain, Former: data.Key.Name, Until: db.Timestamp(v.Store.Now().Add(overlap)), Overlaps: overlap > 0})
}
