package openapi

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The pieces use a shorthand, which is expanded to plain OpenAPI:
//
//	x-type        a named schema of x-types; a trailing " or null" allows null
//	x-object      a resource: its "object" member and its list of required ones
//	x-records     the data format's schemas (records.go)
//	x-events      the webhook events (events.go)
//	x-scopes      the places of the scopes in lists (scopes.go)
//	x-returns     the envelope of an operation's response (paths.go)

// expand expands the merged pieces to plain OpenAPI.
func expand(doc *yaml.Node) error {
	types := take(doc, "x-types")
	if err := expandRecords(doc); err != nil {
		return err
	}
	if err := expandEvents(doc); err != nil {
		return err
	}
	for _, schema := range pairs(child(doc, "components", "schemas")) {
		expandResource(schema)
	}
	if err := expandPaths(doc); err != nil {
		return err
	}
	expandErrors(doc)
	if err := expandTypes(child(doc, "components", "schemas"), types, false); err != nil {
		return err
	}
	return expandTypes(doc, types, true)
}

// expandResource gives a schema with x-object its "object" member and, unless
// it lists them itself, its required members.
func expandResource(schema *yaml.Node) {
	name := text(schema, "x-object")
	if name == "" {
		return
	}
	if child(schema, "type") == nil {
		prepend(schema, "type", str("object"))
	}
	properties := child(schema, "properties")
	if child(properties, "object") == nil {
		prepend(properties, "object", object(
			"type", "string", "const", name, "description", "The type of the object."))
	}
	optional := texts(take(schema, "x-optional"))
	if child(schema, "required") != nil {
		return
	}
	required := list()
	for property := range pairs(properties) {
		if !slices.Contains(optional, property) {
			required.Content = append(required.Content, str(property))
		}
	}
	set(schema, "required", required)
}

// expandTypes replaces x-type throughout a tree. Closed schemas, which describe
// requests, keep the bounds of free text. Responses have none, because the
// sandbox's marker may make an accepted text longer.
func expandTypes(n, types *yaml.Node, closed bool) error {
	if n.Kind == yaml.MappingNode {
		if text(n, "additionalProperties") == "false" {
			closed = true
		}
		if name := take(n, "x-type"); name != nil {
			if err := expandType(n, types, name); err != nil {
				return err
			}
		}
		if !closed && isFreeText(n) {
			take(n, "minLength")
			take(n, "maxLength")
		}
	}
	for _, c := range n.Content {
		if err := expandTypes(c, types, closed); err != nil {
			return err
		}
	}
	return nil
}

// isFreeText reports whether a schema is of human-readable text: a string without
// an enumeration, a pattern or a format.
func isFreeText(n *yaml.Node) bool {
	kind := child(n, "type")
	if kind == nil || kind.Value != "string" && !slices.Contains(texts(kind), "string") {
		return false
	}
	for _, key := range []string{"enum", "const", "pattern", "format"} {
		if child(n, key) != nil {
			return false
		}
	}
	return true
}

// expandType adds the members of a named type to a schema that uses it. The
// schema's own members have precedence.
func expandType(n, types, use *yaml.Node) error {
	name, nullable := strings.CutSuffix(use.Value, " or null")
	base := child(types, name)
	if base == nil {
		return fmt.Errorf("line %d: no x-type %s", use.Line, name)
	}
	base = clone(base)
	if nullable {
		makeNullable(base)
	}
	for key, value := range pairs(n) {
		set(base, key, value)
	}
	n.Content = base.Content
	return nil
}

// makeNullable makes a schema accept null. A text that may be null may also be
// empty, so the minimum length is removed.
func makeNullable(schema *yaml.Node) {
	set(schema, "type", strs(text(schema, "type"), "null"))
	if enum := child(schema, "enum"); enum != nil {
		enum.Content = append(enum.Content, null())
	}
	take(schema, "minLength")
}
