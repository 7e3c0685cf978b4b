package api_test

import (
	"context"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
	"govsvc/server/api"
)

// receivers accepts all URLs except those of one host.
type receivers struct{}

func (receivers) CheckURL(_ context.Context, url string) error {
	if strings.Contains(url, "forbidden") {
		return &api.Error{Code: api.InvalidParameter, Param: "url", Message: "url must not lead there"}
	}
	return nil
}

func (receivers) Send(context.Context, delivery.Receiver, string, db.Message) delivery.Attempt {
	return delivery.Attempt{Status: 204}
}

// TestSubmit calls operations of the API in the same way as a form of the dashboard.
func TestSubmit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Receivers = receivers{}
	submit := func(operation, id, body string) (api.Result, error) {
		var members map[string]any
		if body != "" {
			members = testkit.Object(t, body)
		}
		return api.Submit(f.ctx, f.Caller, operation, id, members)
	}
	made, err := submit("createWebhookSubscription", "", `{"url":"https://example.com/hook","event_types":["risk.created"]}`)
	if err != nil {
		t.Fatal(err)
	}
	data := testkit.Object(t, string(made.Response().Body))["data"].(map[string]any)
	id, secret := data["id"].(string), data["secret"].(string)
	if !strings.HasPrefix(secret, "whsec_") || data["created_via"] != "dashboard" {
		t.Errorf("got %v", data)
	}
	if typed := made.(api.NewSubscription); typed.ID != id || typed.Secret != secret || typed.Type != "webhook_subscription" {
		t.Errorf("got %+v, want id %s", typed, id)
	}
	if entry := f.auditLog(t, 1)[0]; !strings.HasPrefix(entry, "ada webhook_subscription.created webhook_subscription "+id) || strings.Contains(entry, secret) {
		t.Errorf("got audit event %s, want one of %s without the secret", entry, id)
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
			t.Errorf("%s %s: got %q, want %q", row.operation, row.body, refusal(err), row.want)
		}
	}
	for _, operation := range []string{"getIndex", "callMcp", "nothing"} {
		if _, err := submit(operation, "", ""); api.Refusal(err).Code != api.InternalError {
			t.Errorf("%s: got %v, want internal_error", operation, err)
		}
	}
}
