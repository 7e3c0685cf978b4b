package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// methods of a path item in the order in which they are shown.
var methods = []string{"get", "post", "patch", "delete"}

// expandPaths adds to each operation what all operations share: envelopes, header
// parameters, security, response headers and errors.
func expandPaths(doc *yaml.Node) error {
	schemas := child(doc, "components", "schemas")
	for path, item := range pairs(child(doc, "paths")) {
		for method, op := range pairs(item) {
			if !slices.Contains(methods, method) {
				return fmt.Errorf("line %d: %s is no method of %s", op.Line, method, path)
			}
			full, err := expandOperation(schemas, method, path, op)
			if err != nil {
				return fmt.Errorf("%s %s: %w", strings.ToUpper(method), path, err)
			}
			op.Content = full.Content
		}
	}
	return nil
}

// expandOperation returns an operation with the members in the order that all
// operations have.
func expandOperation(schemas *yaml.Node, method, path string, op *yaml.Node) (*yaml.Node, error) {
	status, success, err := operationSuccess(schemas, op)
	if err != nil {
		return nil, err
	}
	full := object()
	for _, key := range []string{
		"tags", "operationId", "summary", "description", "deprecated", "x-deprecation",
		"x-scope", "x-feature", "x-public", "x-idempotency", "x-max-body", "x-tool",
	} {
		if value := take(op, key); value != nil {
			set(full, key, value)
		}
	}
	body, bodyOptional := take(op, "x-body"), isTrue(op, "x-body-optional")
	take(op, "x-body-optional")
	set(full, "security", operationSecurity(full))
	set(full, "parameters", operationParameters(full, method, take(op, "parameters")))
	if body != nil {
		set(full, "requestBody", object("required", !bodyOptional, "content", object(
			"application/json", object("schema", refTo("schemas", body.Value)))))
	}
	responses := object(status, success)
	for code, response := range pairs(take(op, "responses")) {
		if code != status {
			set(responses, code, response)
		}
	}
	addErrors(responses, full, method, path, body != nil)
	addHeaders(responses, full, method)
	set(full, "responses", responses)
	for key := range pairs(op) {
		return nil, fmt.Errorf("%s is not expected here", key)
	}
	return full, nil
}

// operationSuccess returns the successful response: that of x-returns, or else the first
// one under responses.
func operationSuccess(schemas, op *yaml.Node) (status string, response *yaml.Node, err error) {
	returns := take(op, "x-returns")
	if returns == nil {
		for status, response := range pairs(child(op, "responses")) {
			return status, response, nil
		}
		return "", nil, fmt.Errorf("has neither x-returns nor responses")
	}
	status = cmp.Or(text(returns, "status"), "200")
	for shape, name := range pairs(returns) {
		if shape == "status" {
			continue
		}
		component, meaning, err := envelope(schemas, shape, name.Value)
		if err != nil {
			return "", nil, err
		}
		return status, object("description", meaning, "content", object(
			"application/json", object("schema", refTo("schemas", component)))), nil
	}
	return "", nil, fmt.Errorf("x-returns names no schema")
}

// envelope adds the component of an envelope to the schemas, and returns its name.
func envelope(schemas *yaml.Node, shape, name string) (component, meaning string, err error) {
	resource := child(schemas, name)
	if resource == nil {
		return "", "", fmt.Errorf("x-returns: no schema %s", name)
	}
	kind := text(resource, "x-object")
	words := strings.ReplaceAll(kind, "_", " ")
	data := refTo("schemas", name)
	switch shape {
	case "list":
		component, meaning = name+"List", "A page of objects of type `"+kind+"`."
		set(schemas, component, listEnvelope(data, meaning))
		return component, meaning, nil
	case "one":
		component, meaning = name+"Envelope", "The "+words+"."
	case "current":
		component, meaning = name+"Envelope", "The current "+words+". data is null if there is none yet."
		data = object("anyOf", list(data, object("type", "null")),
			"description", "The object, or null if there is none yet.")
	default:
		return "", "", fmt.Errorf("x-returns: no shape %s", shape)
	}
	set(schemas, component, objectEnvelope(kind, data, meaning))
	return component, meaning, nil
}

func listEnvelope(item *yaml.Node, meaning string) *yaml.Node {
	return object("type", "object", "description", meaning,
		"required", strs("object", "api_version", "data", "has_more", "next_cursor"),
		"properties", object(
			"object", object("type", "string", "const", "list", "description", "The type of the object."),
			"api_version", object("x-type", "version"),
			"data", object("type", "array", "items", item, "description", "The objects of this page."),
			"has_more", object("type", "boolean", "description", "Whether another page exists."),
			"next_cursor", object("x-type", "cursor or null",
				"description", "An opaque text. Send it as `cursor` to read the next page. It is null when has_more is false."),
		))
}

func objectEnvelope(kind string, data *yaml.Node, meaning string) *yaml.Node {
	return object("type", "object", "description", meaning,
		"required", strs("object", "api_version", "data", "has_more", "next_cursor"),
		"properties", object(
			"object", object("type", "string", "const", kind, "description", "The type of the object in `data`."),
			"api_version", object("x-type", "version"),
			"data", data,
			"has_more", object("type", "boolean", "description", "Always false, because a single object has no pages."),
			"next_cursor", object("x-type", "cursor or null", "description", "Always null, because a single object has no pages."),
		))
}

// operationSecurity returns the security schemes of an operation, each with the scope.
// OpenAPI 3.1 allows scopes for schemes of every type.
func operationSecurity(op *yaml.Node) *yaml.Node {
	if isTrue(op, "x-public") {
		return list()
	}
	roles := list()
	if scope := text(op, "x-scope"); scope != "" {
		roles = strs(scope)
	}
	return list(object("bearer", roles), object("apiKey", clone(roles)))
}

func operationParameters(op *yaml.Node, method string, own *yaml.Node) *yaml.Node {
	parameters := list()
	if own != nil {
		parameters.Content = own.Content
	}
	add := func(name string) {
		parameters.Content = append(parameters.Content, refTo("parameters", name))
	}
	add("ServiceVersion")
	switch text(op, "x-idempotency") {
	case "required":
		add("IdempotencyKey")
	case "optional":
		add("IdempotencyKeyOptional")
	}
	if method == "get" {
		add("IfNoneMatch")
	}
	return parameters
}
