package openapi

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// The document is a tree of YAML nodes until it is compiled. Unlike Go maps, nodes
// keep the order of members and the line in the file.

// child returns the value of a mapping's member, or nil.
func child(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var found *yaml.Node
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				found = n.Content[i+1]
				break
			}
		}
		n = found
	}
	return n
}

// text returns the scalar value of a member, or "".
func text(n *yaml.Node, keys ...string) string {
	if c := child(n, keys...); c != nil && c.Kind == yaml.ScalarNode {
		return c.Value
	}
	return ""
}

// texts returns the scalar values of a sequence.
func texts(n *yaml.Node) []string {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	values := make([]string, len(n.Content))
	for i, c := range n.Content {
		values[i] = c.Value
	}
	return values
}

// isTrue reports whether a member is the boolean true.
func isTrue(n *yaml.Node, key string) bool { return text(n, key) == "true" }

// pairs yields the members of a mapping in order.
func pairs(n *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// set sets a member of a mapping. An existing member keeps its position.
func set(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, str(key), value)
}

// prepend puts a member first.
func prepend(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append([]*yaml.Node{str(key), value}, n.Content...)
}

// take removes a member and returns its value, or nil.
func take(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			value := n.Content[i+1]
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			return value
		}
	}
	return nil
}

// clone copies a tree.
func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = clone(n.Content[i])
	}
	return &c
}

func str(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
}

func boolean(b bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}
}

func null() *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

func list(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

func strs(values ...string) *yaml.Node {
	n := list()
	for _, v := range values {
		n.Content = append(n.Content, str(v))
	}
	return n
}

// object makes a mapping of alternating names and values; a value is a
// string, a bool or a node.
func object(members ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i < len(members); i += 2 {
		n.Content = append(n.Content, str(members[i].(string)))
		switch v := members[i+1].(type) { //nolint:gosec // i steps by two through pairs
		case string:
			n.Content = append(n.Content, str(v))
		case bool:
			n.Content = append(n.Content, boolean(v))
		case *yaml.Node:
			n.Content = append(n.Content, v)
		default:
			panic(fmt.Sprintf("openapi: object member of type %T", v))
		}
	}
	return n
}

// refTo makes a reference to a component.
func refTo(kind, name string) *yaml.Node {
	return object("$ref", "#/components/"+kind+"/"+name)
}

// appendJSON appends a tree as compact JSON.
func appendJSON(b []byte, n *yaml.Node) []byte {
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i := 0; i < len(n.Content); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendQuoted(b, n.Content[i].Value)
			b = append(b, ':')
			b = appendJSON(b, n.Content[i+1])
		}
		return append(b, '}')
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, item := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	default:
		return appendScalar(b, n)
	}
}

// appendScalar appends everything but numbers, booleans and null as a string, for
// example an unquoted date.
func appendScalar(b []byte, n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return append(b, "null"...)
	case "!!bool", "!!int", "!!float":
		return append(b, n.Value...)
	default:
		return appendQuoted(b, n.Value)
	}
}

func appendQuoted(b []byte, s string) []byte {
	// The only error is invalid UTF-8, which the YAML parser refuses.
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

func number(literal string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: literal}
}
