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
		op.Tool.Output = appendJSON(nil, inline(doc, schema))
		break
	}
	return nil
}

// outputKeywords are the keywords that stay in a tool's output schema. Clients
// validate responses with a schema that they cached. Enumerations, patterns,
// formats and bounds are left out, because a later version may extend them.
var outputKeywords = []string{"type", "description", "const", "required", "properties", "items", "anyOf"}

// inline copies a schema and replaces references by the schemas they name.
func inline(doc, n *yaml.Node) *yaml.Node {
	n = resolve(doc, n)
	out := object()
	for key, value := range pairs(n) {
		switch {
		case !slices.Contains(outputKeywords, key):
		case key == "properties":
			properties := object()
			for name, schema := range pairs(value) {
				set(properties, name, inline(doc, schema))
			}
			set(out, key, properties)
		case key == "items":
			set(out, key, inline(doc, value))
		case key == "anyOf":
			alternatives := list()
			for _, alternative := range value.Content {
				alternatives.Content = append(alternatives.Content, inline(doc, alternative))
			}
			set(out, key, alternatives)
		default:
			set(out, key, value)
		}
	}
	return nullableAsAnyOf(out)
}

// nullableAsAnyOf replaces a list of types by anyOf, because several MCP clients
// do not support the list.
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

// resolve follows references within the document.
func resolve(doc, n *yaml.Node) *yaml.Node {
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

// lookup returns the node that a reference names, or nil. No name in the document
// has a character that JSON Pointer escapes.
func lookup(doc *yaml.Node, ref string) *yaml.Node {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	return child(doc, strings.Split(path, "/")...)
}

// strip removes the members that readers of the served document do not need.
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
