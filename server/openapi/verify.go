package openapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"govsvc/db/resource"
)

// features are the features that only some plans have.
var features = []string{"incidents", "audit"}

// inOrder puts the object types of the data format in the order of an import.
func inOrder(records []record) ([]record, error) {
	ordered := make([]record, 0, len(records))
	for _, name := range resource.Types() {
		i := slices.IndexFunc(records, func(r record) bool { return r.object == name })
		if i < 0 {
			return nil, fmt.Errorf("x-records: %s is missing", name)
		}
		ordered = append(ordered, records[i])
	}
	if len(ordered) != len(records) {
		return nil, fmt.Errorf("x-records: a type has no descriptor in db/resource")
	}
	return ordered, nil
}

// verify checks the document before it is compiled.
func verify(doc *yaml.Node, scopes []string) error {
	if err := verifyRefs(doc, doc); err != nil {
		return err
	}
	for name, schema := range pairs(child(doc, "components", "schemas")) {
		if err := verifyDescribed(name, schema); err != nil {
			return err
		}
	}
	seen, needed := map[string]bool{}, map[string]bool{}
	for path, item := range pairs(child(doc, "paths")) {
		for method, op := range pairs(item) {
			id := text(op, "operationId")
			if id == "" || seen[id] {
				return fmt.Errorf("%s %s: operationId is missing or taken", method, path)
			}
			seen[id], needed[text(op, "x-scope")] = true, true
			if err := verifyOperation(doc, scopes, method, path, op); err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
		}
	}
	for _, scope := range scopes {
		if !needed[scope] {
			return fmt.Errorf("x-scopes: no operation needs %s", scope)
		}
	}
	return nil
}

// verifyRefs checks that every reference names something that exists.
func verifyRefs(doc, n *yaml.Node) error {
	if ref := text(n, "$ref"); ref != "" && lookup(doc, ref) == nil {
		return fmt.Errorf("line %d: %s leads nowhere", n.Line, ref)
	}
	for _, c := range n.Content {
		if err := verifyRefs(doc, c); err != nil {
			return err
		}
	}
	return nil
}

// verifyDescribed checks that a schema and all its properties have descriptions.
func verifyDescribed(name string, schema *yaml.Node) error {
	if text(schema, "description") == "" && text(schema, "$ref") == "" {
		return fmt.Errorf("%s has no description", name)
	}
	for property, inner := range pairs(child(schema, "properties")) {
		if err := verifyDescribed(name+"."+property, inner); err != nil {
			return err
		}
	}
	if items := child(schema, "items"); child(items, "properties") != nil {
		return verifyDescribed(name+"[]", items)
	}
	return nil
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

func verifyOperation(doc *yaml.Node, scopes []string, method, path string, op *yaml.Node) error {
	for _, key := range []string{"summary", "description", "tags"} {
		if child(op, key) == nil {
			return fmt.Errorf("has no %s", key)
		}
	}
	id, scope, public := text(op, "operationId"), text(op, "x-scope"), isTrue(op, "x-public")
	mcp := id == "callMcp"
	if scope != "" && !slices.Contains(scopes, scope) {
		return fmt.Errorf("no scope %s", scope)
	}
	if (scope == "") != (public || mcp) {
		return fmt.Errorf("needs a scope, or to be public")
	}
	if feature := text(op, "x-feature"); feature != "" && !slices.Contains(features, feature) {
		return fmt.Errorf("no feature %s", feature)
	}
	if child(op, "requestBody") != nil && text(op, "x-max-body") == "" {
		return fmt.Errorf("has a body without x-max-body")
	}
	if err := verifyIdempotency(method, mcp, text(op, "x-idempotency")); err != nil {
		return err
	}
	return verifyParameters(doc, path, child(op, "parameters"))
}

// verifyIdempotency checks the rule of the specification: the header is required
// on POST, optional on PATCH and DELETE, and ignored by reads and MCP.
func verifyIdempotency(method string, mcp bool, marking string) error {
	want := map[string]string{"post": "required", "patch": "optional", "delete": "optional"}[method]
	if mcp {
		want = ""
	}
	if marking != want {
		return fmt.Errorf("x-idempotency must be %q", want)
	}
	return nil
}

func verifyParameters(doc *yaml.Node, path string, parameters *yaml.Node) error {
	declared := map[string]bool{}
	for _, n := range parameters.Content {
		n = resolve(doc, n)
		in, name := text(n, "in"), text(n, "name")
		if text(n, "description") == "" || child(n, "schema") == nil {
			return fmt.Errorf("the parameter %s needs a description and a schema", name)
		}
		if key := in + " " + strings.ToLower(name); declared[key] {
			return fmt.Errorf("the parameter %s is declared twice", name)
		}
		declared[in+" "+strings.ToLower(name)] = true
	}
	for _, match := range pathParameter.FindAllStringSubmatch(path, -1) {
		if !declared["path "+match[1]] {
			return fmt.Errorf("the path parameter %s is not declared", match[1])
		}
		delete(declared, "path "+match[1])
	}
	for key := range declared {
		if strings.HasPrefix(key, "path ") {
			return fmt.Errorf("the parameter %s is not in the path", key)
		}
	}
	return nil
}
