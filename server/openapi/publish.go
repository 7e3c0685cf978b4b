package openapi

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Service are the members of the published document that depend on the service.
// Zero values have defaults.
type Service struct {
	// BaseURL is the address of the service without a path. The default is the
	// default address of the command serve.
	BaseURL string
	// Contact is an e-mail address or a URL; "" leaves info.contact out.
	Contact string
}

// BasePath is the path of the API below the address of the service.
const BasePath = "/api/v1"

const defaultBaseURL = "http://127.0.0.1:8080"

// JSON returns the published document of a service with default settings.
func (d *Document) JSON() []byte { return d.Published(Service{}) }

// Published returns the document as a service serves it: compact,
// deterministic, with members in the order in which they are written.
func (d *Document) Published(s Service) []byte {
	b := []byte{'{'}
	for _, m := range d.public {
		if m.info == nil {
			b = append(append(b, m.json...), ',')
			continue
		}
		base := cmp.Or(s.BaseURL, defaultBaseURL)
		own := appendJSON(nil, object(
			"info", withContact(m.info, s.Contact),
			"externalDocs", object("description", "The API reference of this service.", "url", base+"/docs"),
			"servers", list(object("url", base+BasePath, "description", "The service that serves this document.")),
		))
		b = append(append(b, own[1:len(own)-1]...), ',')
	}
	b[len(b)-1] = '}'
	return b
}

// publicMember is a member of the published document. The tree of the document is not
// kept, because the garbage collector would visit it in each cycle.
type publicMember struct {
	json []byte     // the name and the value
	info *yaml.Node // the value of the member "info", which depends on the service; or nil
}

func publicMembers(doc *yaml.Node) []publicMember {
	var members []publicMember
	for name, value := range pairs(doc) {
		if name == "info" {
			members = append(members, publicMember{info: value})
			continue
		}
		members = append(members, publicMember{json: appendJSON(append(appendQuoted(nil, name), ':'), value)})
	}
	return members
}

// withContact puts the contact before the license.
func withContact(info *yaml.Node, contact string) *yaml.Node {
	if contact == "" {
		return info
	}
	kind := "url"
	if !strings.Contains(contact, "://") {
		kind = "email"
	}
	own := object()
	for key, value := range pairs(info) {
		if key == "license" {
			set(own, "contact", object(kind, contact))
		}
		set(own, key, value)
	}
	return own
}

// publish turns the compiled document into the one that callers see. It adds
// keywords of JSON Schema for what the evaluator checks beyond the pieces.
func publish(doc *yaml.Node) {
	strip(doc)
	walkSchemas(doc, func(schema *yaml.Node, request bool) {
		addNumberFormat(schema)
		dropRequiredAlternatives(schema)
		if request {
			addTextPattern(schema)
		}
	})
}

// publishRecord makes a schema of the data format stand alone.
func publishRecord(name string, schema *yaml.Node) (*yaml.Node, error) {
	own := stripped(schema)
	var failure error
	walkSchema(own, false, func(inner *yaml.Node, request bool) {
		if child(inner, "$ref") != nil {
			failure = fmt.Errorf("x-records: %s holds a reference", name)
		}
		addNumberFormat(inner)
		if request {
			addTextPattern(inner)
		}
	})
	prepend(own, "title", str(name))
	prepend(own, "$schema", str("https://json-schema.org/draft/2020-12/schema"))
	return own, failure
}

// walkSchemas calls check for every schema of a document. request is true for
// the schemas of what callers send: query parameters and closed objects.
func walkSchemas(n *yaml.Node, check func(schema *yaml.Node, request bool)) {
	for key, value := range pairs(n) {
		switch key {
		case "schema":
			walkSchema(value, text(n, "in") == "query", check)
		case "schemas":
			for _, schema := range pairs(value) {
				walkSchema(schema, false, check)
			}
		case "example", "examples":
		default:
			walkSchemas(value, check)
		}
	}
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			walkSchemas(item, check)
		}
	}
}

// walkSchema calls check for a schema and for all schemas inside it.
func walkSchema(n *yaml.Node, request bool, check func(schema *yaml.Node, request bool)) {
	if n.Kind != yaml.MappingNode {
		return // additionalProperties: false
	}
	request = request || text(n, "additionalProperties") == "false"
	check(n, request)
	for _, property := range pairs(child(n, "properties")) {
		walkSchema(property, request, check)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner := child(n, key); inner != nil {
			walkSchema(inner, request, check)
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if alternatives := child(n, key); alternatives != nil {
			for _, alternative := range alternatives.Content {
				walkSchema(alternative, request, check)
			}
		}
	}
}

// addNumberFormat states the width of a number. The evaluator accepts the
// finite values of a double and the integers of 64 bits. Bounds may narrow an
// integer to 32 bits.
func addNumberFormat(schema *yaml.Node) {
	switch {
	case child(schema, "format") != nil:
	case hasType(schema, "number"):
		set(schema, "format", str("double"))
	case hasType(schema, "integer"):
		set(schema, "format", str(integerFormat(schema)))
	}
}

func integerFormat(schema *yaml.Node) string {
	for _, key := range []string{"minimum", "maximum"} {
		bound, err := strconv.ParseInt(text(schema, key), 10, 64)
		if err != nil || bound < math.MinInt32 || bound > math.MaxInt32 {
			return "int64"
		}
	}
	return "int32"
}

// hasType reports whether a schema names a type, alone or in a list.
func hasType(schema *yaml.Node, name string) bool {
	kind := child(schema, "type")
	if kind == nil {
		return false
	}
	for _, one := range append(texts(kind), kind.Value) {
		if one == name {
			return true
		}
	}
	return false
}

// dropRequiredAlternatives removes an anyOf of alternatives that only require
// members, because code generators make useless types of these. The evaluator
// still checks them, and the description states them.
func dropRequiredAlternatives(schema *yaml.Node) {
	alternatives := child(schema, "anyOf")
	if alternatives == nil {
		return
	}
	for _, alternative := range alternatives.Content {
		if len(alternative.Content) != 2 || child(alternative, "required") == nil {
			return
		}
	}
	take(schema, "anyOf")
}

// oneLinePattern is the pattern of a text of one line: no line end of Unicode
// between the first and the last character that is not white space.
const (
	lineEnds       = "\\n\\v\\f\\r\\x85\u2028\u2029"
	oneLinePattern = `^[\s` + lineEnds + `]*[^\s\x00` + lineEnds + `]([^\x00` + lineEnds + `]*[^\s\x00` + lineEnds + `])?[\s` + lineEnds + `]*$`
)

// addTextPattern states what the evaluator checks of every free text: it has
// no NUL character, and its minimum length counts the characters between the
// first and the last that is not white space.
func addTextPattern(schema *yaml.Node) {
	if !isFreeText(schema) {
		return
	}
	const anything, visible = `[^\x00]`, `[^\s\x00]`
	if take(schema, "x-one-line") != nil {
		set(schema, "pattern", str(oneLinePattern))
		return
	}
	switch least, _ := strconv.Atoi(text(schema, "minLength")); least {
	case 0:
		set(schema, "pattern", str("^"+anything+"*$"))
	case 1:
		set(schema, "pattern", str(notBlankPattern))
	default:
		set(schema, "pattern", str(fmt.Sprintf("^%s*%s%s{%d,}%s%s*$", anything, visible, anything, least-2, visible, anything)))
	}
}
