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

// webhookFormData is the argument of the pages that add and edit a webhook.
type webhookFormData struct {
	Back  string // path of the previous page
	Title string
	Form  *ui.Form
}

// NewWebhook shows the form for a new webhook.
func NewWebhook(r *page.Request) error {
	data := addWebhookForm(webhookForm(r))
	return r.Render("webhook-form", data.Title, data)
}

// addWebhookForm completes the form for a new webhook.
func addWebhookForm(form *ui.Form) webhookFormData {
	form.Action, form.Submit, form.Cancel = "/webhooks/new", "Add webhook", "/webhooks"
	form.Fields = append(form.Fields, &ui.Field{
		Name: "paused", Label: "Start paused", Type: "switch", Hint: "Until you resume it, only tests are delivered.",
	})
	return webhookFormData{Back: "/webhooks", Title: "Add a webhook", Form: form}
}

// webhookForm returns the fields of both forms.
func webhookForm(r *page.Request) *ui.Form {
	events := &ui.Field{
		Name: "event_types", Label: "Events", Type: "checks",
		Hint: "Choose none to receive all events, including those of later versions.",
	}
	for _, t := range r.Document.EventTypes() {
		if t.Subscribable {
			events.Options = append(events.Options, ui.Option{Value: t.Name, Label: t.Name, Hint: t.Description})
		}
	}
	return &ui.Form{Fields: []*ui.Field{
		{
			Name: "url", Label: "Receiver URL", Type: "url", InputMode: "url", Required: true, Autofocus: true,
			Hint: "An HTTPS address that the service can reach. Each event is sent to it as signed JSON.",
		},
		{Name: "description", Label: "Description", Hint: "What the receiver is, for people who see this list.", MaxLength: 2000},
		events,
	}}
}

// webhookMembers returns the fields of the form as members of the API's operations.
func webhookMembers(url, description string, types []string) map[string]any {
	eventTypes := make([]any, len(types))
	for i, name := range types {
		eventTypes[i] = name
	}
	members := map[string]any{"url": url, "description": nil, "event_types": eventTypes}
	if description != "" {
		members["description"] = description
	}
	return members
}

// webhookBody returns the sent form as the body of an operation.
func webhookBody(r *page.Request) map[string]any {
	return webhookMembers(r.Value("url"), r.Value("description"), r.HTTP.PostForm["event_types"])
}

// checkedInput validates a body by the schema of its operation, as the API does.
func checkedInput(r *page.Request, operation string, body map[string]any) (api.Input, error) {
	members, err := api.CheckBody(r.Document.Operation(operation).Body, body)
	if invalid, ok := errors.AsType[api.ValidationErrors](err); ok {
		return api.Input{}, &invalid[0]
	}
	return api.Input{ID: r.PathValue("id"), Body: members}, err
}

// CreateWebhook adds a webhook and redirects to its secret.
func CreateWebhook(r *page.Request) error {
	form := webhookForm(r)
	body := webhookBody(r)
	body["active"] = r.Value("paused") != "true"
	in, err := checkedInput(r, "createWebhookSubscription", body)
	if err != nil {
		return renderWebhookError(r, addWebhookForm(form), err)
	}
	created, err := api.CreateWebhookSubscription(r.Context(), r.Caller, in)
	if err != nil {
		return renderWebhookError(r, addWebhookForm(form), err)
	}
	url, _ := in.Body["url"].(string)
	return redirectToSecret(r, newSecret{ID: created.ID, URL: url, Secret: created.Secret})
}

func renderWebhookError(r *page.Request, data webhookFormData, err error) error {
	return r.RenderRefused(data.Form, err, "webhook-form", data.Title, data)
}

// EditWebhook shows the form that changes a webhook.
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
	form.Action, form.Submit, form.Cancel = ui.Path("webhooks", s.ID, "change"), "Save changes", back
	return s, webhookFormData{Back: back, Title: "Edit webhook", Form: form}, nil
}

// UpdateWebhook changes the fields of a webhook that differ from before.
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

// newSecret is a new signing secret of a webhook.
type newSecret struct {
	ID, URL, Secret string
	// After a rotation, the old secret is valid until a time, or "" if it has ended.
	IsRotation bool
	Until      string
}

// redirectToSecret redirects to the page that shows a signing secret, once.
func redirectToSecret(r *page.Request, secret newSecret) error {
	return r.RedirectOnce("/webhooks/secret", secret)
}

// ShowSecret shows a signing secret, once.
func ShowSecret(r *page.Request) error {
	var data struct{ Secret *newSecret }
	if secret, ok := r.TakeOnce().(newSecret); ok {
		data.Secret = &secret
	}
	return r.Render("webhook-secret", "Signing secret", data)
}

func rotateSecretForm(id string) *ui.Form {
	return overlapForm(ui.Path("webhooks", id, "rotate-secret"), "Create new secret",
		"The old secret remains valid for", "Until then, deliveries have both signatures, the new one first.")
}

// RotateSecret gives a webhook a new signing secret.
func RotateSecret(r *page.Request) error {
	data, err := loadWebhook(r)
	if err != nil {
		return err
	}
	overlap, err := chosenOverlap(r)
	if err != nil {
		return r.RenderRefused(data.Rotate, err, "webhook", "Webhook", data)
	}
	made := newSecret{ID: data.Subscription.ID, URL: data.Subscription.URL, IsRotation: true}
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
