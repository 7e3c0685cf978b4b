package testkit

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"govsvc/server/openapi"
)

// LoadDocument returns the compiled OpenAPI document, which all tests of a process share.
var LoadDocument = sync.OnceValues(openapi.Load)

// Document loads the document like LoadDocument, and fails the test instead of
// returning an error.
func Document(t testing.TB) *openapi.Document {
	t.Helper()
	document, err := LoadDocument()
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// EventSchema returns the document's schema of the body of an event.
func EventSchema(t testing.TB, event string) *openapi.Schema {
	t.Helper()
	var name strings.Builder
	for word := range strings.FieldsFuncSeq(event, func(r rune) bool { return r == '.' || r == '_' }) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	schema := Document(t).Schema(name.String() + "Event")
	if schema == nil {
		t.Fatalf("the document has no schema of the event %s", event)
	}
	return schema
}

// Object decodes a JSON object. A number keeps its text, as in the bodies of requests.
func Object(t testing.TB, text string) map[string]any {
	t.Helper()
	var members map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&members); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
	return members
}
