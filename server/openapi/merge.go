package openapi

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

//go:embed *.yaml
var files embed.FS

// depths is how many levels below a top-level member the pieces are merged: one
// if the entries are its members, two for components, which have sections.
var depths = map[string]int{
	"paths": 1, "components": 2, "x-types": 1, "x-records": 1, "x-events": 1, "x-scopes": 1,
}

// piece is a file of the document.
type piece struct {
	name  string
	order int // x-order: the place of the piece in the document
	root  *yaml.Node
}

// merged parses the pieces and merges them in their order.
func merged(files fs.FS) (*yaml.Node, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	pieces := make([]piece, len(names))
	for i, name := range names {
		if pieces[i], err = parsePiece(files, name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name)) })
	doc := object()
	for _, p := range pieces {
		if err := mergePiece(doc, p.root); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return doc, nil
}

func parsePiece(files fs.FS, name string) (piece, error) {
	p := piece{name: name}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return p, err
	}
	var file yaml.Node
	if err := yaml.Unmarshal(data, &file); err != nil {
		return p, err
	}
	if len(file.Content) != 1 || file.Content[0].Kind != yaml.MappingNode {
		return p, fmt.Errorf("is not one mapping")
	}
	p.root = file.Content[0]
	if err := checkPlain(p.root); err != nil {
		return p, err
	}
	order := take(p.root, "x-order")
	if order == nil {
		return p, fmt.Errorf("has no x-order, the place of its paths in the document")
	}
	p.order, err = strconv.Atoi(order.Value)
	return p, err
}

func mergePiece(doc, root *yaml.Node) error {
	for key, value := range pairs(root) {
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
