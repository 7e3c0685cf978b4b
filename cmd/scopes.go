package cmd

import (
	"fmt"
	"slices"
	"strings"

	"govsvc/server/openapi"
)

// readAll stands for the read scopes of the resource families (specification,
// Authentication). No operation asks for it.
const readAll = "read:all"

// scopes lists what a key can be given: the scopes that the operations of the
// document ask for, reads first, and read:all.
func scopes(document *openapi.Document) []string {
	var names []string
	for _, op := range document.Operations {
		if op.Scope != "" && !slices.Contains(names, op.Scope) {
			names = append(names, op.Scope)
		}
	}
	rank := func(scope string) int {
		verb, _, _ := strings.Cut(scope, ":")
		return slices.Index([]string{"read", "write", "manage"}, verb)
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return append(names, readAll)
}

// knownScope refuses a scope that no operation asks for.
func (a *app) knownScope(name string) error {
	document, err := a.document()
	if err != nil {
		return err
	}
	if known := scopes(document); !slices.Contains(known, name) {
		return fmt.Errorf("no scope is named %q; the scopes are %s", name, strings.Join(known, ", "))
	}
	return nil
}
