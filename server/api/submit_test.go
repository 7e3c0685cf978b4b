package api_test

import (
	"context"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/server/api"
)

// doorkeeper lets all through but one host.
type doorkeeper struct{}

func (doorkeeper) CheckURL(_ context.Context, url string) error {
	if strings.Contains(url, "forbidden") {
		return &api.Error{Code: api.InvalidParameter, Param: "url", Message: "url must not lead there"}
	}
	return nil
}

func (doorkeeper) Send(context.Context, delivery.Receiver, string, db.Message) delivery.Attempt {
	return delivery.Attempt{Status: 204}
}

// TestSubmit drives an operation of the API from a form, as a person.
func TestSubmit(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.Receivers = doorkeeper{}
	submit := func(operation, id, body string) (api.Result, error) {
		var members map[string]any
		if body != "" {
			members = object(t, body)
		}
		return api.Submit(d.ctx, d.Caller, operation, id, members)
	}
	made, err := submit("createWebhookSubscription", "", `{"url":"https://example.com/hook","event_types":["risk.created"]}`)
	if err != nil {
		t.Fatal(err)
	}
	data := object(t, string(made.Response().Body))["data"].(map[string]any)
	id, secret := data["id"].(string), data["secret"].(string)
	if !strings.HasPrefix(secret, "whsec_") || data["created_via"] != "dashboard" {
		t.Errorf("%v", data)
	}
	if typed := made.(api.NewSubscription); typed.ID != id || typed.Secret != secret || typed.Type != "webhook_subscription" {
		t.Errorf("%+v, want id %s", typed, id)
	}
	if told := d.trail(t, 1)[0]; !strings.HasPrefix(told, "ada webhook_subscription.created webhook_subscription "+id) || strings.Contains(told, secret) {
		t.Errorf("the audit log: %s", told)
	}
	for _, row := range []struct{ operation, id, body, want string }{
		{"updateWebhookSubscription", strings.ToUpper(id), `{"active":false}`, ""},
		{"testWebhookSubscription", id, "", ""},
		{"updateWebhookSubscription", id, `{"url":"https://forbidden.example.com/"}`, "invalid_parameter url: url must not lead there"},
		{"createWebhookSubscription", "", `{}`, "invalid_parameter url: url is required"},
		{"deleteWebhookSubscription", id, "", ""},
		{"deleteWebhookSubscription", id, "", "not_found : no webhook_subscription with this id in this organisation"},
	} {
		if _, err := submit(row.operation, row.id, row.body); refusal(err) != row.want {
			t.Errorf("%s %s: %q, want %q", row.operation, row.body, refusal(err), row.want)
		}
	}
	for _, operation := range []string{"getIndex", "callMcp", "nothing"} {
		if _, err := submit(operation, "", ""); api.Refusal(err).Code != api.InternalError {
			t.Errorf("%s: %v", operation, err)
		}
	}
}
