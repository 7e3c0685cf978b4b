package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Scopes lists the scopes of keys in the order of the specification. The first call
// parses the document.
func Scopes() []string { return slices.Clone(keyScopes()) }

var keyScopes = sync.OnceValue(func() []string {
	doc, err := merged(files)
	if err != nil {
		panic(err) // the files are embedded, so that the tests would have found it
	}
	scopes, err := loadScopes(child(doc, "x-scopes"))
	if err != nil {
		panic(err)
	}
	return append(scopes, "read:all") // which no operation needs
})

// loadScopes reads x-scopes, which has the place of each scope in lists. It returns the
// scopes that operations need, in the order of their places.
func loadScopes(n *yaml.Node) ([]string, error) {
	places := map[string]int{}
	var scopes []string
	for scope, place := range pairs(n) {
		at, err := strconv.Atoi(place.Value)
		if err != nil {
			return nil, fmt.Errorf("x-scopes: the place of %s is not a number", scope)
		}
		for other, taken := range places {
			if taken == at {
				return nil, fmt.Errorf("x-scopes: %s and %s have the same place", other, scope)
			}
		}
		places[scope], scopes = at, append(scopes, scope)
	}
	slices.SortFunc(scopes, func(a, b string) int { return cmp.Compare(places[a], places[b]) })
	return scopes, nil
}
