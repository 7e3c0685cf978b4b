package cmd

import (
	"fmt"
	"slices"
	"strings"

	"govsvc/db/resource"
	"govsvc/server/transfer"
)

// recordType is the name of a type of the data format.
type recordType struct{ value *string }

func (v recordType) Type() string { return "TYPE" }

func (v recordType) String() string { return *v.value }

func (v recordType) Set(text string) error {
	*v.value = text
	return knownType(text)
}

func formats() []transfer.Format {
	var all []transfer.Format
	for _, name := range transfer.Formats() {
		all = append(all, transfer.Format(name))
	}
	return all
}

// typesText lists the types on lines of their own.
func typesText() string { return wrapped(resource.Types()) }

func knownType(name string) error {
	if all := resource.Types(); !slices.Contains(all, name) {
		return fmt.Errorf("no type is named %q; the types are %s", name, strings.Join(all, ", "))
	}
	return nil
}
