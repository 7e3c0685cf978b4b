package openapi

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// expandRecords turns x-records into component schemas. Each is a closed object
// with the properties of a resource, if it names one, and further ones.
func expandRecords(doc *yaml.Node) error {
	schemas := child(doc, "components", "schemas")
	for name, record := range pairs(child(doc, "x-records")) {
		resource := child(schemas, text(record, "of"))
		if resource == nil && child(record, "of") == nil {
			resource = object("properties", object())
		}
		if resource == nil {
			return fmt.Errorf("x-records: %s is of an unknown schema", name)
		}
		if child(record, "key") == nil || child(record, "required") == nil {
			return fmt.Errorf("x-records: %s needs key and required", name)
		}
		schema := recordSchema(name, record, resource)
		for _, member := range slices.Concat(texts(child(record, "key")), texts(child(record, "required"))) {
			if child(schema, "properties", member) == nil {
				return fmt.Errorf("x-records: %s has no member %s", name, member)
			}
		}
		set(schemas, recordName(name), schema)
	}
	return nil
}

// recordName returns the component name of an object type's data-format schema.
func recordName(object string) string { return camel(object) + "Record" }

func recordSchema(name string, record, resource *yaml.Node) *yaml.Node {
	properties := clone(child(resource, "properties"))
	for further, schema := range pairs(child(record, "further")) {
		set(properties, further, clone(schema))
	}
	for member, meaning := range pairs(commonMembers) {
		if child(properties, member) == nil {
			set(properties, member, clone(meaning))
		}
	}
	kind := object("type", "string", "const", name, "description", "The type of the record.")
	if aliases := texts(child(record, "aliases")); aliases != nil {
		take(kind, "const")
		set(kind, "enum", strs(append([]string{name}, aliases...)...))
	}
	prepend(properties, "object", kind)
	schema := object(
		"type", "object",
		"x-object", name,
		"x-natural-key", clone(child(record, "key")),
		"description", "A line of the data format for import and export: "+text(record, "description"),
		"additionalProperties", false,
		"required", strs(append([]string{"object"}, texts(child(record, "required"))...)...),
		"properties", properties,
	)
	for _, key := range []string{"anyOf", "x-must"} {
		if extra := child(record, key); extra != nil {
			set(schema, key, clone(extra))
		}
	}
	return schema
}

// commonMembers are allowed in every record.
var commonMembers = object(
	"id", object("x-type", "id", "description", "The id of the record. The default is a new id."),
	"created_at", object("x-type", "timestamp", "description", "When the record was created. The default is now."),
	"updated_at", object("x-type", "timestamp", "description", "When the record last changed. The default is now."),
	"api_version", object("type", "string", "maxLength", number("200"), "description", "The version of the API. It is accepted and ignored."),
)
