package testkit

import (
	"strings"
	"sync"
	"testing"

	"govsvc/server/openapi"
)

var load = sync.OnceValues(openapi.Load)

// Document returns the compiled OpenAPI document, which all tests of a process
// share.
func Document(t testing.TB) *openapi.Document {
	t.Helper()
	document, err := load()
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
