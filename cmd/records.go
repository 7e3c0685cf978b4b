package cmd

import (
	"fmt"
	"slices"
	"strings"

	"govsvc/db/resource"
	"govsvc/server/transfer"
)

// parseRecordType parses the name of a type of the data format.
func parseRecordType(text string) (string, error) {
	return text, checkRecordType(text)
}

// formats returns the formats of import and export.
func formats() []transfer.Format {
	var all []transfer.Format
	for _, name := range transfer.Formats() {
		all = append(all, transfer.Format(name))
	}
	return all
}

// typesText lists the types on several lines.
func typesText() string { return wrapText(strings.Join(resource.Types(), ", ") + ".") }

// checkRecordType refuses a text that is not the name of a type.
func checkRecordType(name string) error {
	if all := resource.Types(); !slices.Contains(all, name) {
		return fmt.Errorf("no type is named %q; the types are %s", name, strings.Join(all, ", "))
	}
	return nil
}
