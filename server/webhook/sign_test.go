package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/server/webhook"
)

// vector is the test vector of the Standard Webhooks specification and its libraries.
var vector = struct {
	secret, signature string
	at                time.Time
	message           db.Message
}{
	"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", time.Unix(1614265330, 0),
	db.Message{ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Type: "ping", Body: []byte(`{"test": 2432232314}`)},
}

func TestSign_PublishedVector(t *testing.T) {
	t.Parallel()
	headers, err := webhook.Sign([]string{vector.secret}, vector.message, vector.at)
	if err != nil {
		t.Fatal(err)
	}
	if got := headers.Get("webhook-signature"); got != vector.signature {
		t.Errorf("got %s, want %s", got, vector.signature)
	}
	theirs, err := standardwebhooks.NewWebhook(vector.secret)
	if err != nil {
		t.Fatal(err)
	}
	want, err := theirs.Sign(vector.message.ID, vector.at, vector.message.Body)
	if err != nil || want != vector.signature {
		t.Errorf("the published library signs %s, %v", want, err)
	}
	if err := theirs.VerifyIgnoringTimestamp(vector.message.Body, headers); err != nil {
		t.Error(err)
	}
}

func ours(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// verified verifies an arrival with the published library of Standard Webhooks and with
// the signature that the contract defines.
func verified(t testing.TB, a testkit.Received, secret string) error {
	t.Helper()
	theirs, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := theirs.VerifyIgnoringTimestamp(a.Body, a.Header); err != nil {
		return err
	}
	if !strings.Contains(","+a.Header.Get("X-Service-Signature")+",", ","+ours(secret, a.Body)+",") {
		t.Errorf("X-Service-Signature is %q", a.Header.Get("X-Service-Signature"))
	}
	return nil
}

// TestVerify invalidates each part of a valid delivery in turn.
func TestVerify(t *testing.T) {
	t.Parallel()
	const secret, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	now := time.Now()
	for _, row := range []struct {
		name    string
		secrets []string
		change  func(http.Header)
		body    string
		secret  string
		now     time.Time
		fault   string
	}{
		{name: "good"},
		{name: "the former secret of an overlap", secrets: []string{other, secret}},
		{name: "the new one", secrets: []string{other, secret}, secret: other},
		{name: "another secret", secret: other, fault: "X-Service-Signature"},
		{name: "no secret", secret: "abc!", fault: "signing secret"},
		{name: "another body", body: "{}", fault: "X-Service-Signature"},
		{name: "no signature", change: func(h http.Header) { h.Del("X-Service-Signature") }, fault: "X-Service-Signature"},
		{name: "upper case", change: func(h http.Header) { h.Set("X-Service-Signature", strings.ToUpper(h.Get("X-Service-Signature"))) }, fault: "X-Service-Signature"},
		{name: "another id", change: func(h http.Header) { h.Set("webhook-id", "evt_2") }, fault: "webhook-signature"},
		{name: "another time", change: func(h http.Header) { h.Set("webhook-timestamp", "1") }, fault: "webhook-signature"},
		{name: "no standard signature", change: func(h http.Header) { h.Del("webhook-signature") }, fault: "webhook-signature"},
		{name: "late", now: now.Add(6 * time.Minute), fault: "webhook-timestamp"},
		{name: "early", now: now.Add(-6 * time.Minute), fault: "webhook-timestamp"},
		{name: "a little late", now: now.Add(4 * time.Minute)},
	} {
		message := db.Message{ID: "evt_1", Type: "ping", Body: []byte(`{"id":"evt_1"}`)}
		if row.secrets == nil {
			row.secrets = []string{secret}
		}
		headers, err := webhook.Sign(row.secrets, message, now)
		if err != nil {
			t.Fatal(err)
		}
		if row.change != nil {
			row.change(headers)
		}
		if row.secret == "" {
			row.secret = secret
		}
		if row.now.IsZero() {
			row.now = now
		}
		body := message.Body
		if row.body != "" {
			body = []byte(row.body)
		}
		err = webhook.Verify(row.secret, headers, body, row.now)
		if (err == nil) != (row.fault == "") || err != nil && !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%s: %v, want %q", row.name, err, row.fault)
		}
	}
}
