package openapi_test

import (
	"sync"
	"testing"

	"govsvc/server/openapi"
)

var loaded = sync.OnceValues(openapi.Load)

// document is the compiled document, loaded once for all tests.
func document(t testing.TB) *openapi.Document {
	t.Helper()
	d, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return d
}
