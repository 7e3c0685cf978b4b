package openapi

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Published30 returns the document as OpenAPI 3.0.3, for tools that do not read
// 3.1. What 3.0 can't express is left out. Webhooks are in an extension.
func (d *Document) Published30(s Service) ([]byte, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(d.Published(s), &file); err != nil { // JSON is YAML
		return nil, err
	}
	doc := file.Content[0]
	set(doc, "openapi", str("3.0.3"))
	downgradeInfo(child(doc, "info"))
	if webhooks := take(doc, "webhooks"); webhooks != nil {
		set(doc, "x-webhooks", webhooks)
	}
	downgradeSecurity(doc)
	var failure error
	walkSchemas(doc, func(schema *yaml.Node, _ bool) {
		if err := downgradeSchema(doc, schema); err != nil && failure == nil {
			failure = err
		}
	})
	if failure != nil {
		return nil, fmt.Errorf("openapi: no 3.0 form: %w", failure)
	}
	dropUnused(doc)
	return appendJSON(nil, doc), nil
}

// licenseURLs give the addresses of licenses, which 3.0 names in place of the
// SPDX identifier.
var licenseURLs = map[string]string{"Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0"}

func downgradeInfo(info *yaml.Node) {
	take(info, "summary")
	license := child(info, "license")
	if identifier := take(license, "identifier"); identifier != nil {
		set(license, "url", str(licenseURLs[identifier.Value]))
	}
}

// downgradeSecurity removes the scopes from the security requirements. 3.0
// allows them for OAuth alone. The extension x-scope still names them.
func downgradeSecurity(n *yaml.Node) {
	for key, value := range pairs(n) {
		if key != "security" || value.Kind != yaml.SequenceNode {
			downgradeSecurity(value)
			continue
		}
		for _, requirement := range value.Content {
			for scheme := range pairs(requirement) {
				set(requirement, scheme, list())
			}
		}
	}
}

// keywords30 are the schema keywords that mean the same in 3.0 and 3.1.
var keywords30 = []string{
	"type", "format", "description", "title", "default", "enum", "pattern", "minLength", "maxLength",
	"minimum", "maximum", "minItems", "maxItems", "uniqueItems", "required", "properties", "items",
	"additionalProperties", "anyOf", "oneOf", "allOf", "deprecated", "$ref", "nullable", "example",
}

// downgradeSchema rewrites one schema; the walk comes to those inside it
// afterwards. A schema that is already of 3.0 stays as it is.
func downgradeSchema(doc, schema *yaml.Node) error {
	inlineNullable(doc, schema)
	if fixed := take(schema, "const"); fixed != nil {
		set(schema, "enum", list(fixed))
	}
	if examples := take(schema, "examples"); examples != nil && len(examples.Content) > 0 {
		set(schema, "example", examples.Content[0])
	}
	if kinds := child(schema, "type"); kinds != nil && kinds.Kind == yaml.SequenceNode {
		names := slices.DeleteFunc(texts(kinds), func(name string) bool { return name == "null" })
		if len(names) != 1 {
			return fmt.Errorf("several types, %s", strings.Join(names, " and "))
		}
		set(schema, "type", str(names[0]))
		if len(names) < len(kinds.Content) {
			set(schema, "nullable", boolean(true))
		}
	}
	if ref := child(schema, "$ref"); ref != nil && len(schema.Content) > 2 {
		take(schema, "$ref")
		set(schema, "allOf", list(object("$ref", ref)))
	}
	for key := range pairs(schema) {
		if !slices.Contains(keywords30, key) && !strings.HasPrefix(key, "x-") {
			return fmt.Errorf("the keyword %s", key)
		}
	}
	return nil
}

// dropUnused removes the component schemas that nothing refers to any more,
// because their only use was inlined.
func dropUnused(doc *yaml.Node) {
	used := map[string]bool{}
	var note func(n *yaml.Node)
	note = func(n *yaml.Node) {
		used[text(n, "$ref")] = true
		for _, c := range n.Content {
			note(c)
		}
	}
	note(doc)
	schemas := child(doc, "components", "schemas")
	kept := object()
	for name, schema := range pairs(schemas) {
		if used["#/components/schemas/"+name] {
			set(kept, name, schema)
		}
	}
	schemas.Content = kept.Content
}

// inlineNullable replaces "anyOf: [a reference, null]" by a nullable copy of the
// schema, because in 3.0 a reference to an object does not accept null.
func inlineNullable(doc, schema *yaml.Node) {
	alternatives := child(schema, "anyOf")
	if alternatives == nil || len(alternatives.Content) != 2 || text(alternatives.Content[1], "type") != "null" {
		return
	}
	own := clone(resolve(doc, alternatives.Content[0]))
	set(own, "nullable", boolean(true))
	for key, value := range pairs(schema) {
		if key != "anyOf" {
			set(own, key, value)
		}
	}
	schema.Content = own.Content
}
