package integrations

import (
	"errors"
	"maps"
	"reflect"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// webhookFormData is what the pages that make and change a subscription show.
type webhookFormData struct {
	Back  string // path of the page before
	Title string
	Form  *ui.Form
}

// NewWebhook shows the form that makes a subscription.
func NewWebhook(r *page.Request) error {
	data := addWebhookForm(webhookForm(r))
	return r.Render("webhook-form", data.Title, data)
}

func addWebhookForm(form *ui.Form) webhookFormData {
	form.Action, form.Submit, form.Cancel = "/webhooks/new", "Add the webhook", "/webhooks"
	form.Fields = append(form.Fields, &ui.Field{
		Name: "paused", Label: "Start paused", Type: "switch", Hint: "Nothing but tests is delivered before you resume it.",
	})
	return webhookFormData{Back: "/webhooks", Title: "Add a webhook", Form: form}
}

// webhookForm has the fields that making and changing share.
func webhookForm(r *page.Request) *ui.Form {
	events := &ui.Field{
		Name: "event_types", Label: "Events", Type: "checks",
		Hint: "Choose none to get every event, those to come in later versions too.",
	}
	for _, t := range r.Document.EventTypes() {
		if t.Subscribable {
			events.Options = append(events.Options, ui.Option{Value: t.Name, Label: t.Name, Hint: t.Description})
		}
	}
	return &ui.Form{Fields: []*ui.Field{
		{
			Name: "url", Label: "URL of the receiver", Type: "url", InputMode: "url", Required: true, Autofocus: true,
			Hint: "An https address that can be reached from here. Each event is POSTed to it as JSON, signed.",
		},
		{Name: "description", Label: "Description", Hint: "What receives it, for the people who see this list.", MaxLength: 2000},
		events,
	}}
}

// webhookMembers are those of a subscription that the form asks for, as the
// API's operations take them.
func webhookMembers(url, description string, types []string) map[string]any {
	wanted := make([]any, len(types))
	for i, name := range types {
		wanted[i] = name
	}
	members := map[string]any{"url": url, "description": nil, "event_types": wanted}
	if description != "" {
		members["description"] = description
	}
	return members
}

// webhookBody is the body that the API's operation would get for the form.
func webhookBody(r *page.Request) map[string]any {
	return webhookMembers(r.Value("url"), r.Value("description"), r.HTTP.PostForm["event_types"])
}

// checkedInput checks a body as the API does, by the schema of its operation.
func checkedInput(r *page.Request, operation string, body map[string]any) (api.Input, error) {
	members, err := api.CheckBody(r.Document.Operation(operation).Body, body)
	if faults, ok := errors.AsType[api.Faults](err); ok {
		fault := faults[0]
		fault.Param = ui.FieldName(fault.Param)
		return api.Input{}, &fault
	}
	return api.Input{ID: r.PathValue("id"), Body: members}, err
}

// CreateWebhook makes a subscription and leads to its secret.
func CreateWebhook(r *page.Request) error {
	form := webhookForm(r)
	body := webhookBody(r)
	body["active"] = r.Value("paused") != "true"
	in, err := checkedInput(r, "createWebhookSubscription", body)
	if err != nil {
		return renderWebhookError(r, addWebhookForm(form), err)
	}
	made, err := api.CreateWebhookSubscription(r.Context(), r.Caller, in)
	if err != nil {
		return renderWebhookError(r, addWebhookForm(form), err)
	}
	url, _ := in.Body["url"].(string)
	return redirectToSecret(r, shownSecret{ID: made.ID, URL: url, Secret: made.Secret})
}

func renderWebhookError(r *page.Request, data webhookFormData, err error) error {
	return r.RenderRefused(data.Form, err, "webhook-form", data.Title, data)
}

// EditWebhook shows the form that changes a subscription.
func EditWebhook(r *page.Request) error {
	s, data, err := loadWebhookForm(r)
	if err != nil {
		return err
	}
	data.Form.Field("url").Value = s.URL
	data.Form.Field("description").Value = ui.Text(s.Description)
	data.Form.Field("event_types").Values = s.Types
	return r.Render("webhook-form", data.Title, data)
}

func loadWebhookForm(r *page.Request) (subscription, webhookFormData, error) {
	s, err := loadSubscription(r)
	if err != nil {
		return s, webhookFormData{}, err
	}
	form := webhookForm(r)
	back := ui.Path("webhooks", s.ID)
	form.Action, form.Submit, form.Cancel = ui.Path("webhooks", s.ID, "change"), "Save", back
	return s, webhookFormData{Back: back, Title: "Change the webhook", Form: form}, nil
}

// UpdateWebhook changes a subscription. Only what differs from before is sent.
func UpdateWebhook(r *page.Request) error {
	s, data, err := loadWebhookForm(r)
	if err != nil {
		return err
	}
	before, body := webhookMembers(s.URL, ui.Text(s.Description), s.Types), webhookBody(r)
	maps.DeleteFunc(body, func(member string, value any) bool { return reflect.DeepEqual(before[member], value) })
	in, err := checkedInput(r, "updateWebhookSubscription", body)
	if err == nil && len(in.Body) > 0 {
		_, err = api.UpdateWebhookSubscription(r.Context(), r.Caller, in)
	}
	if err != nil {
		return renderWebhookError(r, data, err)
	}
	return r.RedirectWithMessage(data.Back, "Saved.")
}

// shownSecret is a signing secret and whose it is.
type shownSecret struct {
	ID, URL, Secret string
	// of a rotation
	Rotated bool
	Until   string // the former one signs beside it until then; "" if it has ended
}

// redirectToSecret leads to the page that shows a signing secret, once.
func redirectToSecret(r *page.Request, made shownSecret) error {
	return r.RedirectOnce("/webhooks/secret", made)
}

// ShowSecret shows a signing secret, once.
func ShowSecret(r *page.Request) error {
	var data struct{ Made *shownSecret }
	if made, ok := r.TakeOnce().(shownSecret); ok {
		data.Made = &made
	}
	return r.Render("webhook-secret", "The signing secret", data)
}

func rotateSecretForm(id string) *ui.Form {
	return &ui.Form{
		Action: ui.Path("webhooks", id, "rotate-secret"), Submit: "Make a new secret",
		Fields: []*ui.Field{{
			Name: "overlap", Label: "The old secret still signs for", Type: "select", Value: "24h", Options: overlaps, Required: true,
			Hint: "Deliveries carry both signatures until then, the new one first.",
		}},
	}
}

// RotateSecret gives a subscription a new signing secret.
func RotateSecret(r *page.Request) error {
	data, err := loadWebhook(r)
	if err != nil {
		return err
	}
	overlap, err := overlap(r)
	if err != nil {
		return r.RenderRefused(data.Rotate, err, "webhook", "Webhook", data)
	}
	made := shownSecret{ID: data.Subscription.ID, URL: data.Subscription.URL, Rotated: true}
	err = r.Store.Write(r.Context(), r.Actor(), func(tx *db.Tx) error {
		secret, until, err := tx.RotateSecret(made.ID, overlap)
		made.Secret = secret
		if overlap > 0 {
			made.Until = db.Timestamp(until)
		}
		return err
	})
	if err != nil {
		return err
	}
	return redirectToSecret(r, made)
}
