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

const (
	// expiresSoon is how long before its end a key is marked.
	expiresSoon = 14 * 24 * time.Hour
	// newKeyPeriod is how long a new key is not marked as never used.
	newKeyPeriod = 7 * 24 * time.Hour
)

// keysOnPage is the number of keys on a page of the list.
const keysOnPage = 100

// keyView is a key with its state and use.
type keyView struct {
	db.Key
	State     string   // active, expires_soon, expired or revoked
	Ended     bool     // revoked or expired
	NeverUsed bool     // for longer than newKeyPeriod
	Unused    []string // scopes without use, if the key was used
}

// keysData is the argument of the page "Keys".
type keysData struct {
	Organisation db.Organisation
	API          bool // the plan includes the API
	Live         []keyView
	LivePager    ui.Pager
	Ended        []keyView
	EndedPager   ui.Pager
	EndedOpen    bool // the list of ended keys is open
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
			Title: "No API keys yet", Advice: "With an API key, a program can call the API. Give the key only the scopes that the program needs.",
			Action: nil,
		},
		MayChange: r.May(auth.Administer),
	}
	if data.MayChange {
		data.Empty.Action = &ui.Action{Label: "Create API key", Path: "/keys/new"}
	}
	for _, key := range all {
		view := newKeyView(r, key, unused[key.ID])
		if view.Ended {
			data.Ended = append(data.Ended, view)
		} else {
			data.Live = append(data.Live, view)
		}
	}
	data.EndedOpen = r.HTTP.URL.Query().Has("ended")
	data.Live, data.LivePager = paginateKeys(r, data.Live, "page")
	data.Ended, data.EndedPager = paginateKeys(r, data.Ended, "ended")
	return r.Render("keys", "Keys", data)
}

// newKeyView determines the state of a key.
func newKeyView(r *page.Request, key db.Key, unused []string) keyView {
	now := r.Store.Now()
	view := keyView{Key: key, State: "active", Ended: key.Ended(now)}
	switch {
	case key.RevokedAt != nil:
		view.State = "revoked"
	case view.Ended:
		view.State = "expired"
	case key.Ended(now.Add(expiresSoon)):
		view.State = "expires_soon"
	}
	if key.LastUsedAt == nil {
		view.NeverUsed = key.CreatedAt < db.Timestamp(now.Add(-newKeyPeriod))
	} else {
		view.Unused = unused
	}
	return view
}

// paginateKeys returns the page of keys whose number is the query parameter name.
func paginateKeys(r *page.Request, list []keyView, name string) ([]keyView, ui.Pager) {
	list, pager := ui.Paginate(list, keysOnPage, r.HTTP.URL.Query().Get(name), func(page int) string { return ui.WithQuery("/keys", name, page) })
	pager.One, pager.Many = "key", "keys"
	return list, pager
}

// keyData is the argument of the page of a key.
type keyData struct {
	Key       keyView
	Facts     []ui.Fact
	Scopes    ui.Table
	Rotate    *ui.Form
	Revoke    ui.Action
	MayChange bool // the user can rotate and revoke the key
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
			Ask: "Programs that use this key are refused immediately. A revoked key can't be restored.", About: "the key " + key.Name,
		},
	}, nil
}

func keyFacts(r *page.Request, key keyView) []ui.Fact {
	terms := r.Caller.Entitlements
	facts := []ui.Fact{
		{Label: "State", Kind: ui.Badge, Value: key.State},
		{Label: "Type", Kind: ui.Badge, Value: key.Kind},
		{Label: "Starts with", Kind: ui.Code, Value: key.Prefix},
		{Label: "Created", Kind: ui.Time, Value: key.CreatedAt},
		timeFact("Last used", key.LastUsedAt),
		timeFact("Expires", key.ExpiresAt),
		{Label: "Requests per minute", Value: effectiveLimit(key.PerMinute, terms.PerMinute)},
		{Label: "Requests per 24 hours", Value: effectiveLimit(key.PerDay, terms.PerDay)},
	}
	if key.RevokedAt != nil {
		facts = slices.Insert(facts, 1, ui.Fact{Label: "Revoked", Kind: ui.Time, Value: key.RevokedAt})
	}
	return facts
}

// timeFact returns a fact about a time. Nil means never.
func timeFact(label string, at *string) ui.Fact {
	if at == nil {
		return ui.Fact{Label: label, Value: "Never"}
	}
	return ui.Fact{Label: label, Kind: ui.Time, Value: at}
}

// effectiveLimit returns the limit of a key, or that of its plan.
func effectiveLimit(own *int, plan int) string {
	if own != nil {
		return ui.FormatNumber(*own)
	}
	return ui.FormatNumber(plan) + " (from the plan)"
}

// keyScopes lists what the key allows and whether it was used.
func keyScopes(r *page.Request, key keyView) ui.Table {
	table := ui.Table{
		Caption: "Scopes of this key",
		Columns: []ui.Column{{Label: "Scope", Kind: ui.Code}, {Label: "Allows", Kind: ui.Long}, {Label: "Usage", Kind: ui.Badge}},
	}
	for _, scope := range key.Scopes {
		used := "used"
		switch {
		case slices.Contains(key.Unused, scope) || key.NeverUsed:
			used = "never_used"
		case key.LastUsedAt == nil:
			used = "none"
		}
		table.Rows = append(table.Rows, ui.Row{Cells: []any{scope, scopeDescription(r, scope), used}})
	}
	return table
}

// RevokeKey revokes a key immediately.
func RevokeKey(r *page.Request) error {
	data, err := loadKey(r)
	if err != nil {
		return err
	}
	if _, err := r.Store.Keys.Revoke(r.Context(), r.Actor(), data.Key.ID); err != nil {
		return err
	}
	return r.RedirectWithMessage("/keys", "The key "+data.Key.Name+" has been revoked.")
}

// overlaps are the choices of how long a rotated key or secret remains valid.
var overlaps = []ui.Option{
	{Value: "0s", Label: "Not at all"}, {Value: "1h", Label: "1 hour"}, {Value: "24h", Label: "24 hours"}, {Value: "168h", Label: "7 days"},
}

// chosenOverlap reads the choice from the sent form.
func chosenOverlap(r *page.Request) (time.Duration, error) {
	sent := r.Value("overlap")
	if !slices.ContainsFunc(overlaps, func(o ui.Option) bool { return o.Value == sent }) {
		return 0, &db.Error{Code: db.Invalid, Param: "overlap", Message: "choose one of the times"}
	}
	return time.ParseDuration(sent)
}

func rotateForm(key keyView) *ui.Form {
	return overlapForm(ui.Path("keys", key.ID, "rotate"), "Create successor",
		"The old key remains valid for", "Time to replace the old key in programs.")
}

// overlapForm asks how long an old secret remains valid beside the new one.
func overlapForm(action, submit, label, hint string) *ui.Form {
	return &ui.Form{Action: action, Submit: submit, Fields: []*ui.Field{
		{Name: "overlap", Label: label, Type: "select", Value: "24h", Options: overlaps, Required: true, Hint: hint},
	}}
}

// RotateKey creates the successor of a key, which is shown once.
func RotateKey(r *page.Request) error {
	data, err := loadKey(r)
	if err != nil {
		return err
	}
	if data.Key.Ended {
		return page.NewProblem(http.StatusConflict, "This key has already ended. Create a new one.")
	}
	overlap, err := chosenOverlap(r)
	if err != nil {
		return r.RenderRefused(data.Rotate, err, "key", data.Key.Name, data)
	}
	created, plain, err := r.Store.Keys.Rotate(r.Context(), r.Actor(), data.Key.ID, overlap)
	if err != nil {
		return err
	}
	return redirectToCreatedKey(r, createdKey{Key: created, Plain: plain, Predecessor: data.Key.Name, Until: db.Timestamp(r.Store.Now().Add(overlap)), Overlaps: overlap > 0})
}
