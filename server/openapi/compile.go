package openapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// compiler compiles schemas of the document into rules.
type compiler struct {
	components map[string]*rule
	interned   internedStrings
	patterns   map[string]*regexp.Regexp
}

// newCompiler compiles the component schemas. It makes all rules before it fills
// them, because schemas refer to each other in any order.
func newCompiler(schemas *yaml.Node) (*compiler, error) {
	c := &compiler{
		components: map[string]*rule{},
		interned:   internedStrings{},
		patterns:   map[string]*regexp.Regexp{},
	}
	for name := range pairs(schemas) {
		c.components[name] = &rule{}
	}
	for name, schema := range pairs(schemas) {
		if err := c.fill(c.components[name], schema); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
	}
	return c, nil
}

// schema compiles a schema. Messages about a whole value start with the subject.
func (c *compiler) schema(n *yaml.Node, subject string) (*Schema, error) {
	r, err := c.rule(n)
	if err != nil {
		return nil, err
	}
	return &Schema{rule: r, subject: subject, interned: c.interned}, nil
}

func (c *compiler) rule(n *yaml.Node) (*rule, error) {
	r := &rule{}
	return r, c.fill(r, n)
}

// fill compiles one schema into a rule. An unknown keyword is an error, because
// callers would see a rule that is not enforced.
func (c *compiler) fill(r *rule, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: a schema must be a mapping", n.Line)
	}
	for key, value := range pairs(n) {
		if err := c.keyword(r, key, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if err := c.properties(r, n); err != nil {
		return err
	}
	if r.unique && (r.items == nil || r.items.target().types != typeString) {
		return fmt.Errorf("uniqueItems is for arrays of strings")
	}
	r.expected = expectation(r, text(n, "format"))
	return nil
}

func (c *compiler) keyword(r *rule, key string, value *yaml.Node) (err error) {
	switch key {
	case "$ref":
		r.ref = c.components[strings.TrimPrefix(value.Value, "#/components/schemas/")]
		if r.ref == nil {
			err = fmt.Errorf("no schema %s", value.Value)
		}
	case "type":
		r.types, err = parseTypes(value)
	case "const":
		r.constant = c.constant(value)
	case "enum":
		for _, option := range value.Content {
			if option.ShortTag() == "!!null" {
				r.nullOption = true
				continue
			}
			r.options = append(r.options, option.Value)
			c.interned[option.Value] = option.Value
		}
	case "minLength", "maxLength", "minItems", "maxItems":
		err = setBound(r, key, value.Value)
	case "minimum":
		r.minimum, err = bound(value.Value)
	case "maximum":
		r.maximum, err = bound(value.Value)
	case "pattern":
		r.matcher = patternMatchers[value.Value]
		r.pattern, err = c.compiled(value.Value)
	case "format":
		if r.format = formats[value.Value]; r.format == nil {
			err = fmt.Errorf("no format %s", value.Value)
		}
		r.formatName = value.Value
	case "items":
		r.items, err = c.rule(value)
	case "uniqueItems":
		r.unique = value.Value == "true"
	case "additionalProperties":
		if r.closed = value.Value == "false"; value.Kind == yaml.MappingNode {
			r.additional, err = c.rule(value)
		}
	case "anyOf":
		r.anyOf, err = c.alternatives(value)
	case "oneOf":
		r.oneOf, err = c.alternatives(value)
	case "x-one-line":
		r.oneLine = value.Value == "true"
	case "x-must":
		r.must = value.Value
	case "description":
		r.description = value.Value
	case "default":
		r.defaultText = value.Value
	case "properties", "required", "title", "examples", "deprecated":
	default:
		if !strings.HasPrefix(key, "x-") {
			err = fmt.Errorf("is not a keyword that is enforced")
		}
	}
	return err
}

func (c *compiler) alternatives(n *yaml.Node) ([]*rule, error) {
	rules := make([]*rule, len(n.Content))
	for i, alternative := range n.Content {
		var err error
		if rules[i], err = c.rule(alternative); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

func (c *compiler) compiled(pattern string) (*regexp.Regexp, error) {
	if re := c.patterns[pattern]; re != nil {
		return re, nil
	}
	re, err := regexp.Compile(pattern)
	if err == nil {
		c.patterns[pattern] = re
	}
	return re, err
}

func (c *compiler) constant(n *yaml.Node) any {
	if n.ShortTag() == "!!bool" {
		return n.Value == "true"
	}
	c.interned[n.Value] = n.Value
	return n.Value
}

func (c *compiler) properties(r *rule, n *yaml.Node) error {
	r.index = map[string]int{}
	for name, schema := range pairs(child(n, "properties")) {
		inner, err := c.rule(schema)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.interned[name] = name
		r.index[name] = len(r.properties)
		r.properties = append(r.properties, property{name: name, rule: inner})
	}
	for _, name := range texts(child(n, "required")) {
		i, ok := r.index[name]
		if !ok {
			i = len(r.properties)
			r.index[name] = i
			r.properties = append(r.properties, property{name: name})
		}
		r.properties[i].required = true
	}
	return nil
}

var typeNames = map[string]jsonTypes{
	"null": typeNull, "boolean": typeBool, "number": typeNumber, "string": typeString,
	"array": typeArray, "object": typeObject, "integer": typeNumber | typeInteger,
}

func parseTypes(n *yaml.Node) (jsonTypes, error) {
	names := []string{n.Value}
	if n.Kind == yaml.SequenceNode {
		names = texts(n)
	}
	var all jsonTypes
	for _, name := range names {
		one, ok := typeNames[name]
		if !ok {
			return 0, fmt.Errorf("no type %s", name)
		}
		all |= one
	}
	return all, nil
}

func setBound(r *rule, key, literal string) error {
	n, err := strconv.Atoi(literal)
	switch key {
	case "minLength":
		r.minLength = n
	case "maxLength":
		r.maxLength = n
	case "minItems":
		r.minItems = n
	default:
		r.maxItems = n
	}
	return err
}

func bound(literal string) (*float64, error) {
	f, err := json.Number(literal).Float64()
	return &f, err
}
