package openapi_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// specifiedEvents are the types of events in the order of the specification.
// Every other list of them is derived.
var specifiedEvents = []string{
	"assessment.completed", "verdict.changed", "roadmap.updated", "risk.created", "risk.severity_changed",
	"compliance.posture_changed", "evidence.pack_filed", "ping",
}

// TestEventTypes_AreThoseOfTheSpecification compares the list of the document,
// that of package db, the webhooks and what a subscription can name.
func TestEventTypes_AreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	document := testkit.Document(t)
	var names []string
	for _, event := range document.EventTypes() {
		names = append(names, event.Name)
		if event.Description == "" {
			t.Errorf("%s has no description", event.Name)
		}
	}
	if !slices.Equal(names, specifiedEvents) {
		t.Errorf("got types %v of the document, want %v", names, specifiedEvents)
	}
	if got, want := db.EventTypes(), slices.Sorted(slices.Values(specifiedEvents)); !slices.Equal(got, want) {
		t.Errorf("got types %v of package db, want %v", got, want)
	}
	var published struct{ Webhooks map[string]any }
	if err := json.Unmarshal(document.JSON(), &published); err != nil {
		t.Fatal(err)
	}
	if len(published.Webhooks) != len(specifiedEvents) {
		t.Errorf("got %d webhooks, want %d", len(published.Webhooks), len(specifiedEvents))
	}
	create := document.Schema("CreateWebhookSubscription")
	for _, event := range document.EventTypes() {
		if published.Webhooks[event.Name] == nil {
			t.Errorf("%s is not one of the webhooks", event.Name)
		}
		_, faults := create.Decode([]byte(`{"url":"https://example.com","event_types":["` + event.Name + `"]}`))
		if want := event.Name != "ping"; (len(faults) == 0) != want || event.Subscribable != want {
			t.Errorf("a subscription to %s: got %v and subscribable %v", event.Name, faults, event.Subscribable)
		}
	}
}

// TestEventTypes_SamplesMatchTheirSchemas decodes each sample with the schema of its
// event.
func TestEventTypes_SamplesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	for _, event := range testkit.Document(t).EventTypes() {
		message := db.NewMessage("01993e0a-52c0-7c3e-9d2b-6f1f0c7a4b11", event.Name, time.Now(), event.Sample)
		if _, faults := testkit.EventSchema(t, event.Name).Decode(message.Body); len(faults) > 0 {
			t.Errorf("%s: got %v, want a valid sample", event.Name, faults)
		}
		if message.Type != event.Name || message.ID != "evt_01993e0a52c07c3e9d2b6f1f0c7a4b11" || bytes.ContainsAny(message.Body, "\n\t") {
			t.Errorf("%s: got message %+v", event.Name, message)
		}
	}
}
