package ui

import (
	"html/template"
	"strings"
)

// Functions returns the functions for templates. They accept every type of value
// that records hold, and nil and pointers to them.
func Functions() template.FuncMap {
	return template.FuncMap{
		"humanize":    Humanize,
		"byActor":     ByActor,
		"tone":        Tone,
		"number":      FormatNumber,
		"percent":     FormatPercent,
		"utc":         FormatTime,
		"machineTime": MachineTime,
		"text":        Text,
		"path":        Path,
		"join":        func(list []string) string { return strings.Join(list, ", ") },
		"plural":      Plural,
	}
}
