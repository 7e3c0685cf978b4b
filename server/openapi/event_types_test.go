package openapi_test

import (
	"slices"
	"testing"

	"govsvc/server/openapi"
	"govsvc/server/webhook"
)

// TestEventTypes are those that there are samples of, but for ping, which is
// sent on request alone.
func TestEventTypes(t *testing.T) {
	t.Parallel()
	document, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	types, err := document.EventTypes()
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(webhook.Types(), func(name string) bool { return name == "ping" })
	var names []string
	for _, each := range types {
		names = append(names, each.Name)
		if each.Description == "" {
			t.Errorf("%s: nothing says what it is", each.Name)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}
