package server_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

// modelRequest is a request that both the service and the model receive.
type modelRequest struct {
	operation string // "PATCH /risks/{id}"
	id        string // of the record in the path
	query     url.Values
	body      string
	once      string // the Idempotency-Key
	flaw      string // "version", "media" or ""
	key       *modelKey
	mistyped  bool // whether the key was altered
}

func (q modelRequest) method() string { m, _, _ := strings.Cut(q.operation, " "); return m }

func (q modelRequest) path() string {
	_, path, _ := strings.Cut(q.operation, " ")
	return strings.Replace(path, "{id}", q.id, 1)
}

// answer returns the response that the specification requires, with the checks in the
// order of the contract, section 2.
func (m *model) answer(q modelRequest) *expectation {
	r := permissions[q.operation]
	if !r.public {
		if refusal := m.admit(q); refusal != nil {
			return refusal
		}
	}
	if q.flaw == "version" {
		return refuse(400, "unsupported_version", "Service-Version")
	}
	if r.public {
		return &expectation{status: 200}
	}
	if code := m.standing(q.key).permit(r); code != "" {
		return refuse(403, code, "")
	}
	d := m.set(q.key)
	if q.method() == "GET" {
		return m.read(d, q.key, q.path(), q.query)
	}
	if q.flaw == "media" && q.body != "" {
		return refuse(415, "unsupported_media_type", "")
	}
	limit := 64 << 10
	if q.operation == "POST /kpis/checkins" {
		limit = 512 << 10
	}
	if len(q.body) > limit {
		return refuse(413, "payload_too_large", "")
	}
	return m.once(q, d, r)
}

// admit returns the check of the credential, the organisation and the rate.
func (m *model) admit(q modelRequest) *expectation {
	k := q.key
	switch {
	case k == nil:
		return refuse(401, "missing_credential", "")
	case q.mistyped, k.revoked, !k.expires.IsZero() && !m.now.Before(k.expires):
		return refuse(401, "invalid_api_key", "")
	}
	k.refill(m.now)
	if code := m.standing(k).admission(); code != "" {
		return refuse(403, code, "")
	}
	if k.remaining() < 1 {
		return refuse(429, "rate_limit_exceeded", "")
	}
	k.level -= int64(time.Minute)
	return nil
}

// once returns the response to a write. If its Idempotency-Key was used before, that is
// the stored response.
func (m *model) once(q modelRequest, d *dataset, r permission) *expectation {
	if q.once == "" && r.required {
		return refuse(400, "invalid_parameter", "Idempotency-Key")
	}
	var body map[string]any
	malformed := json.Unmarshal([]byte(q.body), &body)
	request := q.method() + " " + q.path() + " " + q.body
	if q.body == "" || malformed == nil {
		request = q.method() + " " + q.path() + " " + plainJSON(body)
	}
	if q.operation == "POST /webhooks/subscriptions/{id}/test" && body == nil && (q.body == "" || malformed == nil) {
		request = q.method() + " " + q.path() + " {}"
	}
	place := q.key.org + " " + d.name + " " + q.once
	if kept, known := m.responses[place]; known && q.once != "" && m.now.Sub(kept.at) < 24*time.Hour {
		if kept.request != request {
			return refuse(409, "idempotency_key_reused", "Idempotency-Key")
		}
		e := plain[expectationData](kept.data)
		return &expectation{status: kept.status, object: e.Object, data: e.Data, replayed: true}
	}
	e := m.done(q, d, body, malformed)
	if e.status < 300 && q.once != "" {
		commit := e.commit
		e.commit = func(id string) {
			commit(id)
			m.responses[place] = storedResponse{request, e.status, expectationData{e.object, withoutSecretShown(e.data)}, m.now}
		}
	}
	return e
}

// expectationData is the part of a response that is stored.
type expectationData struct {
	Object string
	Data   any
}

// withoutSecretShown returns a response as it is replayed, without the secret.
func withoutSecretShown(data any) any {
	r := plain[map[string]any](data)
	if _, shown := r["secret"]; shown {
		r["secret"] = nil
	}
	return r
}

// done does a write whose Idempotency-Key was not used before.
func (m *model) done(q modelRequest, d *dataset, body map[string]any, malformed error) *expectation {
	for name := range q.query {
		return refuse(400, "invalid_parameter", name)
	}
	form := bodyForms[q.operation]
	if malformed != nil && (q.body != "" || len(form) > 0) || malformed == nil && body == nil {
		return refuse(400, "invalid_parameter", anyParam)
	}
	if faults := wrong(form, body, ""); len(faults) > 0 {
		return refuse(400, "invalid_parameter", anyOf(faults))
	}
	return m.write(d, q.key, q.operation, q.id, body)
}
