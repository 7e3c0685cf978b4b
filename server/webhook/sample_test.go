package webhook_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"govsvc/server/openapi"
	"govsvc/server/webhook"
)

// schemaOf is the name of the document's schema for the body of an event.
func schemaOf(kind string) string {
	var name strings.Builder
	for word := range strings.FieldsFuncSeq(kind, func(r rune) bool { return r == '.' || r == '_' }) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + "Event"
}

// TestSamples: there is one for every event of the document, as the document
// says it looks.
func TestSamples(t *testing.T) {
	t.Parallel()
	document, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"assessment.completed", "verdict.changed", "roadmap.updated", "risk.created", "risk.severity_changed",
		"compliance.posture_changed", "evidence.pack_filed", "ping",
	}
	if got := webhook.Types(); !slices.Equal(got, want) {
		t.Errorf("types %v, want %v", got, want)
	}
	for _, kind := range webhook.Types() {
		message, known := webhook.Sample(kind, "01993e0a-52c0-7c3e-9d2b-6f1f0c7a4b11", time.Now())
		schema := document.Schema(schemaOf(kind))
		if !known || schema == nil {
			t.Fatalf("%s: sample %v, schema %v", kind, known, schema != nil)
		}
		if _, faults := schema.Decode(message.Body); len(faults) > 0 {
			t.Errorf("%s: %v", kind, faults)
		}
		if message.Type != kind || message.ID != "evt_01993e0a52c07c3e9d2b6f1f0c7a4b11" || strings.ContainsAny(string(message.Body), "\n\t") {
			t.Errorf("%s: %+v", kind, message)
		}
	}
	if _, known := webhook.Sample("risk.closed", "", time.Now()); known {
		t.Error("a sample of a type that there is not")
	}
}
