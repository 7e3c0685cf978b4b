package openapi

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// loadTool makes the MCP tool of an operation that has one.
func loadTool(op *Operation, doc, n, input *yaml.Node) error {
	tool := child(n, "x-tool")
	if tool == nil {
		return nil
	}
	op.Tool = &Tool{
		Name:        text(tool, "name"),
		Title:       text(tool, "title"),
		Description: strings.TrimSpace(text(tool, "description")),
		Input:       appendJSON(nil, stripped(input)),
	}
	if op.Tool.Name == "" || op.Tool.Title == "" || op.Tool.Description == "" {
		return fmt.Errorf("x-tool needs name, title and description")
	}
	for status, response := range pairs(child(n, "responses")) {
		schema := child(response, "content", "application/json", "schema")
		if schema == nil {
			return fmt.Errorf("x-tool: the response %s has no schema", status)
		}
		op.Tool.Output = appendJSON(nil, inlined(doc, schema))
		break
	}
	return nil
}

// lasting are the keywords that stay in a tool's output schema. Clients check
// answers against the schema they were once given, so it must not hold what a
// later addition would break: enumerations, patterns, formats and bounds.
var lasting = []string{"type", "description", "const", "required", "properties", "items", "anyOf"}

// inlined copies a schema with its references replaced by what they mean.
func inlined(doc, n *yaml.Node) *yaml.Node {
	n = resolved(doc, n)
	out := object()
	for key, value := range pairs(n) {
		switch {
		case !slices.Contains(lasting, key):
		case key == "properties":
			properties := object()
			for name, schema := range pairs(value) {
				set(properties, name, inlined(doc, schema))
			}
			set(out, key, properties)
		case key == "items":
			set(out, key, inlined(doc, value))
		case key == "anyOf":
			alternatives := list()
			for _, alternative := range value.Content {
				alternatives.Content = append(alternatives.Content, inlined(doc, alternative))
			}
			set(out, key, alternatives)
		default:
			set(out, key, value)
		}
	}
	return nullableAsAnyOf(out)
}

// nullableAsAnyOf rewrites a list of types, which several MCP clients do not
// read.
func nullableAsAnyOf(n *yaml.Node) *yaml.Node {
	kinds := child(n, "type")
	if kinds == nil || kinds.Kind != yaml.SequenceNode {
		return n
	}
	description := take(n, "description")
	set(n, "type", str(kinds.Content[0].Value))
	out := object("anyOf", list(n, object("type", "null")))
	if description != nil {
		set(out, "description", description)
	}
	return out
}

// resolved follows references within the document.
func resolved(doc, n *yaml.Node) *yaml.Node {
	for {
		ref := text(n, "$ref")
		if ref == "" {
			return n
		}
		target := lookup(doc, ref)
		if target == nil {
			return n
		}
		n = target
	}
}

// lookup finds what a reference names, or nil. No name here has a character
// that JSON Pointer escapes.
func lookup(doc *yaml.Node, ref string) *yaml.Node {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	return child(doc, strings.Split(path, "/")...)
}

// strip removes what is of no use to a reader of the served document.
func strip(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		take(n, "x-must")
		take(n, "x-public")
		if tool := child(n, "x-tool"); tool != nil && text(tool, "name") != "" {
			set(n, "x-tool", str(text(tool, "name")))
		}
	}
	for _, c := range n.Content {
		strip(c)
	}
}

func stripped(n *yaml.Node) *yaml.Node {
	c := clone(n)
	strip(c)
	return c
}
