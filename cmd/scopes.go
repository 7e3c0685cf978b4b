package cmd

import (
	"fmt"
	"slices"
	"strings"

	"govsvc/server/openapi"
)

// knownScope refuses a scope that is not one of the specification's.
func knownScope(name string) error {
	if known := openapi.Scopes(); !slices.Contains(known, name) {
		return fmt.Errorf("no scope is named %q; the scopes are %s", name, strings.Join(known, ", "))
	}
	return nil
}
