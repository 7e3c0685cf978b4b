package openapi

import (
	"embed"
	"fmt"
	"io/fs"

	"go.yaml.in/yaml/v3"
)

//go:embed *.yaml
var files embed.FS

// pieces are the files of the document in the order in which it shows them.
var pieces = []string{
	"document", "index", "scores", "risks", "signals", "roadmap", "compliance", "vendor",
	"talent", "incidents", "kpis", "audit", "webhooks", "mcp",
}

// depths is how many levels below a top-level member the pieces are merged: one
// if the entries are its members, two for components, which have sections.
var depths = map[string]int{
	"paths": 1, "components": 2, "x-types": 1, "x-records": 1, "x-events": 1,
}

// merged parses the pieces and merges them.
func merged(files fs.FS) (*yaml.Node, error) {
	doc := object()
	for _, name := range pieces {
		data, err := fs.ReadFile(files, name+".yaml")
		if err != nil {
			return nil, err
		}
		if err := mergePiece(doc, data); err != nil {
			return nil, fmt.Errorf("%s.yaml: %w", name, err)
		}
	}
	return doc, nil
}

func mergePiece(doc *yaml.Node, data []byte) error {
	var file yaml.Node
	if err := yaml.Unmarshal(data, &file); err != nil {
		return err
	}
	if len(file.Content) != 1 || file.Content[0].Kind != yaml.MappingNode {
		return fmt.Errorf("is not one mapping")
	}
	if err := checkPlain(file.Content[0]); err != nil {
		return err
	}
	for key, value := range pairs(file.Content[0]) {
		if key == "tags" {
			if child(doc, key) == nil {
				set(doc, key, list())
			}
			tags := child(doc, key)
			tags.Content = append(tags.Content, value.Content...)
			continue
		}
		if err := mergeMember(doc, key, value, depths[key]); err != nil {
			return err
		}
	}
	return nil
}

// mergeMember adds a member, or the members below it if both sides have it.
func mergeMember(dst *yaml.Node, key string, value *yaml.Node, depth int) error {
	old := child(dst, key)
	if old == nil {
		set(dst, key, value)
		return nil
	}
	if depth == 0 {
		return fmt.Errorf("line %d: %s is defined twice", value.Line, key)
	}
	for name, member := range pairs(value) {
		if err := mergeMember(old, name, member, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// checkPlain refuses what has no place in JSON: aliases, and a key given
// twice, which yaml.v3 keeps in a tree of nodes without a word.
func checkPlain(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return fmt.Errorf("line %d: anchors and aliases are not used here", n.Line)
	}
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if seen[key.Value] {
				return fmt.Errorf("line %d: %s is given twice", key.Line, key.Value)
			}
			seen[key.Value] = true
		}
	}
	for _, c := range n.Content {
		if err := checkPlain(c); err != nil {
			return err
		}
	}
	return nil
}
