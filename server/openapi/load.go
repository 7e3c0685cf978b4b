package openapi

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Load merges the pieces of the document, checks and compiles them.
func Load() (*Document, error) { return loadFrom(files) }

func loadFrom(files fs.FS) (*Document, error) {
	doc, err := merged(files)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if err := expand(doc); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	d, err := load(doc)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return d, nil
}

func load(doc *yaml.Node) (*Document, error) {
	records, events := take(doc, "x-records"), take(doc, "x-events")
	scopes, err := loadScopes(take(doc, "x-scopes"))
	if err != nil {
		return nil, err
	}
	if err := verify(doc, scopes); err != nil {
		return nil, err
	}
	schemas := child(doc, "components", "schemas")
	c, err := newCompiler(schemas)
	if err != nil {
		return nil, err
	}
	d := &Document{Version: text(doc, "info", "version"), schemas: map[string]*Schema{}, events: loadEvents(events)}
	for name, r := range c.components {
		d.schemas[name] = &Schema{rule: r, subject: "the body", interned: c.interned}
	}
	for path, item := range pairs(child(doc, "paths")) {
		for method, n := range pairs(item) {
			op, err := loadOperation(c, doc, method, path, n)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", text(n, "operationId"), err)
			}
			d.Operations = append(d.Operations, op)
		}
	}
	if d.records, err = loadRecords(d, records, schemas); err != nil {
		return nil, err
	}
	publish(doc)
	d.public = publicMembers(doc)
	return d, nil
}

// loadRecords moves the schemas of the data format out of the components, because
// the API does not use them.
func loadRecords(d *Document, n, schemas *yaml.Node) ([]record, error) {
	var records []record
	for name, r := range pairs(n) {
		schema := d.schemas[recordName(name)]
		schema.subject = "the record"
		own, err := publishRecord(name, take(schemas, recordName(name)))
		if err != nil {
			return nil, err
		}
		records = append(records, record{
			json:    appendJSON(nil, own),
			object:  name,
			aliases: texts(child(r, "aliases")),
			key:     texts(child(r, "key")),
			schema:  schema,
		})
	}
	return inOrder(records)
}

func loadOperation(c *compiler, doc *yaml.Node, method, path string, n *yaml.Node) (*Operation, error) {
	op := &Operation{
		ID:          text(n, "operationId"),
		Method:      strings.ToUpper(method),
		Path:        path,
		Summary:     text(n, "summary"),
		Description: text(n, "description"),
		Scope:       text(n, "x-scope"),
		Feature:     text(n, "x-feature"),
		Public:      isTrue(n, "x-public"),
		Idempotency: idempotencies[text(n, "x-idempotency")],
	}
	op.MaxBody, _ = strconv.ParseInt(text(n, "x-max-body"), 10, 64)
	if body := child(n, "requestBody"); body != nil {
		schema, err := c.schema(child(body, "content", "application/json", "schema"), "the body")
		if err != nil {
			return nil, err
		}
		op.Body, op.BodyOptional = schema, !isTrue(body, "required")
	}
	if err := loadSuccess(c, op, doc, n); err != nil {
		return nil, err
	}
	input, err := loadParameters(op, doc, child(n, "parameters"))
	if err != nil {
		return nil, err
	}
	if op.input, err = c.schema(input, "the arguments"); err != nil {
		return nil, err
	}
	return op, loadTool(op, doc, n, input)
}

var idempotencies = map[string]Idempotency{
	"optional": OptionalIdempotency, "required": RequiredIdempotency,
}

// loadSuccess reads the first response, which is the operation's success.
func loadSuccess(c *compiler, op *Operation, doc, n *yaml.Node) (err error) {
	for status, response := range pairs(child(n, "responses")) {
		if op.Status, err = strconv.Atoi(status); err != nil {
			return fmt.Errorf("the first response must be the success: %w", err)
		}
		schema := child(response, "content", "application/json", "schema")
		if schema == nil {
			return nil
		}
		op.Returns = returns(doc, schema)
		op.Response, err = c.schema(schema, "the response")
		return err
	}
	return nil
}

// returns reads the shape of a response from its envelope.
func returns(doc, schema *yaml.Node) Returns {
	properties := child(resolve(doc, schema), "properties")
	data := child(properties, "data")
	r := Returns{Object: text(properties, "object", "const")}
	name := func(n *yaml.Node) string {
		return strings.TrimPrefix(text(n, "$ref"), "#/components/schemas/")
	}
	switch {
	case data == nil:
		return Returns{}
	case child(data, "items") != nil:
		r.List = name(child(data, "items"))
		r.Object = text(resolve(doc, child(data, "items")), "properties", "object", "const")
	case child(data, "anyOf") != nil:
		r.Current = name(child(data, "anyOf").Content[0])
	default:
		r.One = name(data)
	}
	return r
}

// loadParameters reads the query parameters and returns the schema of a closed
// object with them.
func loadParameters(op *Operation, doc, parameters *yaml.Node) (*yaml.Node, error) {
	properties := object()
	for _, n := range parameters.Content {
		n = resolve(doc, n)
		if text(n, "in") != "query" {
			continue
		}
		p, err := loadParameter(n)
		if err != nil {
			return nil, err
		}
		op.Parameters = append(op.Parameters, p)
		schema := clone(child(n, "schema"))
		set(schema, "description", str(p.Description))
		set(properties, p.Name, schema)
	}
	return object("type", "object", "properties", properties, "additionalProperties", false), nil
}

func loadParameter(n *yaml.Node) (*Parameter, error) {
	schema := child(n, "schema")
	p := &Parameter{
		Name:        text(n, "name"),
		Description: text(n, "description"),
		Integer:     text(schema, "type") == "integer",
		Enum:        texts(child(schema, "enum")),
		Format:      text(schema, "format"),
	}
	fallback := child(schema, "default")
	if !p.Integer {
		if fallback != nil {
			p.Default = fallback.Value
		}
		return p, nil
	}
	for key, field := range map[string]*int{"minimum": &p.Minimum, "maximum": &p.Maximum} {
		i, err := strconv.Atoi(text(schema, key))
		if err != nil {
			return nil, fmt.Errorf("%s needs a %s: %w", p.Name, key, err)
		}
		*field = i
	}
	if fallback != nil {
		i, err := strconv.Atoi(fallback.Value)
		if err != nil {
			return nil, fmt.Errorf("default of %s: %w", p.Name, err)
		}
		p.Default = i
	}
	return p, nil
}
