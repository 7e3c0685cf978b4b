package web

import (
	"encoding/json"
	"maps"
	"reflect"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/web/ui"
)

// webhookFormData is what the pages that make and change a subscription show.
type webhookFormData struct {
	Back  string // path of the page before
	Title string
	Form  *ui.Form
}

// newWebhook shows the form that makes a subscription.
func (v *visit) newWebhook() error {
	data := addWebhookForm(v.webhookForm())
	return v.render("webhook-form", data.Title, data)
}

func addWebhookForm(form *ui.Form) webhookFormData {
	form.Action, form.Submit, form.Cancel = "/webhooks/new", "Add the webhook", "/webhooks"
	form.Fields = append(form.Fields, &ui.Field{
		Name: "paused", Label: "Start paused", Type: "switch", Hint: "Nothing but tests is delivered before you resume it.",
	})
	return webhookFormData{Back: "/webhooks", Title: "Add a webhook", Form: form}
}

// webhookForm has the fields that making and changing share.
func (v *visit) webhookForm() *ui.Form {
	events := &ui.Field{
		Name: "event_types", Label: "Events", Type: "checks",
		Hint: "Choose none to get every event, those to come in later versions too.",
	}
	for _, t := range v.Document.EventTypes() {
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
func (v *visit) webhookBody() map[string]any {
	return webhookMembers(v.value("url"), v.value("description"), v.r.PostForm["event_types"])
}

// checked checks a body as the API does, by the schema of its operation.
func (v *visit) checked(operation string, body map[string]any) (api.Input, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return api.Input{}, err
	}
	value, faults := v.Document.Operation(operation).Body.Decode(encoded)
	if len(faults) > 0 {
		fault := faults[0]
		fault.Param = member(fault.Param)
		return api.Input{}, &fault
	}
	members, _ := value.(map[string]any) // the document has only objects as bodies
	return api.Input{ID: v.r.PathValue("id"), Body: members}, nil
}

// createWebhook makes a subscription and leads to its secret.
func (v *visit) createWebhook() error {
	form := v.webhookForm()
	body := v.webhookBody()
	body["active"] = v.value("paused") != "true"
	in, err := v.checked("createWebhookSubscription", body)
	if err != nil {
		return v.webhookAgain(addWebhookForm(form), err)
	}
	answer, err := api.CreateWebhookSubscription(v.r.Context(), v.caller, in)
	if err != nil {
		return v.webhookAgain(addWebhookForm(form), err)
	}
	made, err := answered[shownSecret](answer)
	if err != nil {
		return err
	}
	return v.showSecret(made)
}

func (v *visit) webhookAgain(data webhookFormData, err error) error {
	return v.again(data.Form, err, "webhook-form", data.Title, data)
}

// editWebhook shows the form that changes a subscription.
func (v *visit) editWebhook() error {
	s, data, err := v.changeForm()
	if err != nil {
		return err
	}
	data.Form.Field("url").Value = s.URL
	data.Form.Field("description").Value = ui.Text(s.Description)
	data.Form.Field("event_types").Values = s.Types
	return v.render("webhook-form", data.Title, data)
}

func (v *visit) changeForm() (subscription, webhookFormData, error) {
	s, err := v.subscription()
	if err != nil {
		return s, webhookFormData{}, err
	}
	form := v.webhookForm()
	back := ui.Path("webhooks", s.ID)
	form.Action, form.Submit, form.Cancel = ui.Path("webhooks", s.ID, "change"), "Save", back
	return s, webhookFormData{Back: back, Title: "Change the webhook", Form: form}, nil
}

// changeWebhook changes a subscription. Only what differs from before is sent.
func (v *visit) changeWebhook() error {
	s, data, err := v.changeForm()
	if err != nil {
		return err
	}
	before, body := webhookMembers(s.URL, ui.Text(s.Description), s.Types), v.webhookBody()
	maps.DeleteFunc(body, func(member string, value any) bool { return reflect.DeepEqual(before[member], value) })
	in, err := v.checked("updateWebhookSubscription", body)
	if err == nil && len(in.Body) > 0 {
		_, err = api.UpdateWebhookSubscription(v.r.Context(), v.caller, in)
	}
	if err != nil {
		return v.webhookAgain(data, err)
	}
	v.flash("Saved.")
	v.redirect(data.Back)
	return nil
}

// shownSecret is a signing secret and whose it is.
type shownSecret struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Secret string `json:"secret"`
	// of a rotation
	Rotated bool   `json:"-"`
	Until   string `json:"-"` // the former one signs beside it until then; "" if it has ended
}

// showSecret leads to the page that shows a signing secret, once.
func (v *visit) showSecret(made shownSecret) error {
	v.redirect(ui.WithQuery("/webhooks/secret", "once", v.keepOnce(made)))
	return nil
}

// webhookSecret shows a signing secret, once.
func (v *visit) webhookSecret() error {
	var data struct{ Made *shownSecret }
	if made, ok := v.takeOnce().(shownSecret); ok {
		data.Made = &made
	}
	return v.render("webhook-secret", "The signing secret", data)
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

// rotateSecret gives a subscription a new signing secret.
func (v *visit) rotateSecret() error {
	data, err := v.webhookData()
	if err != nil {
		return err
	}
	overlap, err := v.overlap()
	if err != nil {
		return v.again(data.Rotate, err, "webhook", "Webhook", data)
	}
	made := shownSecret{ID: data.Subscription.ID, URL: data.Subscription.URL, Rotated: true}
	err = v.Store.Write(v.r.Context(), v.by(), func(tx *db.Tx) error {
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
	return v.showSecret(made)
}
