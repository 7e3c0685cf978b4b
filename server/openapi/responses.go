package openapi

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// addErrors adds, by reference, the refusals that can happen to an operation.
func addErrors(responses, op *yaml.Node, method, path string, body bool) {
	public, idempotent := isTrue(op, "x-public"), child(op, "x-idempotency") != nil
	for _, e := range []struct {
		status, name string
		applies      bool
	}{
		{"304", "NotModified", method == "get"},
		{"400", "BadRequest", true},
		{"401", "Unauthorized", !public},
		{"403", "Forbidden", !public},
		{"404", "NotFound", strings.Contains(path, "{")},
		{"409", "Conflict", idempotent},
		{"413", "PayloadTooLarge", body},
		{"415", "UnsupportedMediaType", body},
		{"429", "TooManyRequests", true},
		{"500", "InternalError", true},
		{"503", "ServiceUnavailable", !public},
	} {
		if e.applies && child(responses, e.status) == nil {
			set(responses, e.status, refTo("responses", e.name))
		}
	}
}

// commonHeaders are on every response; those of the errors are written in
// components/responses.
var commonHeaders = []string{
	"X-Request-Id", "Service-Version", "Service-Environment", "X-RateLimit-Limit",
	"X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Limit-Day",
}

// addHeaders adds the headers of the responses that are written out.
func addHeaders(responses, op *yaml.Node, method string) {
	names := commonHeaders
	if !isTrue(op, "x-public") {
		names = append(names[:len(names):len(names)], "Deprecation", "Sunset")
	}
	if method == "get" {
		names = append(names[:len(names):len(names)], "ETag")
	}
	if child(op, "x-idempotency") != nil {
		names = append(names[:len(names):len(names)], "Idempotency-Replayed")
	}
	for _, response := range pairs(responses) {
		if child(response, "$ref") == nil {
			addHeaderRefs(response, names)
		}
	}
}

// expandErrors gives the responses marked x-error the error envelope and the
// headers that every response carries.
func expandErrors(doc *yaml.Node) {
	for _, response := range pairs(child(doc, "components", "responses")) {
		if take(response, "x-error") != nil {
			set(response, "content", object(
				"application/json", object("schema", refTo("schemas", "Error"))))
		}
		addHeaderRefs(response, commonHeaders)
	}
}

func addHeaderRefs(response *yaml.Node, names []string) {
	headers := child(response, "headers")
	if headers == nil {
		headers = object()
		set(response, "headers", headers)
	}
	for _, name := range names {
		if child(headers, name) == nil {
			set(headers, name, refTo("headers", name))
		}
	}
}
