package openapi

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Idempotency is how an operation treats the header Idempotency-Key.
type Idempotency int

// The values of Idempotency.
const (
	NoIdempotency       Idempotency = iota // reads, the public operations and MCP
	OptionalIdempotency                    // PATCH and DELETE
	RequiredIdempotency                    // POST on a creating endpoint
)

// Operation is an operation of the document.
type Operation struct {
	ID          string // operationId, e.g. "createRisk"
	Method      string // in capitals
	Path        string // below the base URL, e.g. "/risks/{id}"
	Summary     string
	Description string
	Scope       string // the scope that a key must have; "" if any key may call it
	Feature     string // the plan's feature it needs: "incidents", "audit" or ""
	Public      bool   // needs no credential
	Idempotency Idempotency
	MaxBody     int64 // largest request body in bytes; 0 if it takes none
	Status      int   // status of its success

	Parameters   []*Parameter // of the query, in document order
	Body         *Schema      // the request body; nil if it takes none
	BodyOptional bool         // an empty body counts as {}
	Tool         *Tool        // its MCP tool; nil if it has none
	Returns      Returns
	Response     *Schema // of a JSON success; nil if the document has none

	input *Schema // the query parameters as one closed object
}

// Parameter is a query parameter.
type Parameter struct {
	Name        string
	Description string
	Integer     bool
	Default     any      // int for an integer, string otherwise; nil without one
	Enum        []string // the valid values; nil if any is
	Format      string   // "instant" or ""
	Minimum     int      // bounds of an integer
	Maximum     int
}

// Parameter returns the query parameter of that name, or nil.
func (o *Operation) Parameter(name string) *Parameter {
	i := slices.IndexFunc(o.Parameters, func(p *Parameter) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return o.Parameters[i]
}

// Tool describes an operation as a tool of MCP.
type Tool struct {
	Name        string
	Title       string
	Description string
	Input       json.RawMessage // closed JSON Schema of the arguments
	Output      json.RawMessage // open JSON Schema of the structured content
}

// Returns is the shape of an operation's success. At most one of List, One and
// Current is set, to the name of a component schema.
type Returns struct {
	List    string // a page of these
	One     string // exactly one of these
	Current string // the current one of these, or null
	Object  string // the resource type name, e.g. "risk"; "" without an envelope
}

// Values are bound query parameters: int for integers, string otherwise.
// An absent parameter without a default has no entry.
type Values map[string]any

// Int returns the integer of that name, 0 if absent.
func (v Values) Int(name string) int { i, _ := v[name].(int); return i }

// String returns the string of that name, "" if absent.
func (v Values) String(name string) string { s, _ := v[name].(string); return s }

// maxNameBytes is how many bytes of an unknown parameter's name an error repeats.
const maxNameBytes = 200

// Query validates the query of a request. Its error is a *ValidationError for a
// parameter that is unknown, repeated, empty or malformed.
func (o *Operation) Query(values url.Values) (Values, error) {
	given := make(map[string]any, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p := o.Parameter(name)
		if p == nil {
			return nil, &ValidationError{Param: strings.ToValidUTF8(name[:min(len(name), maxNameBytes)], "\ufffd"), Message: quotedName(name) + " is not a known parameter"}
		}
		switch all := values[name]; {
		case len(all) > 1:
			return nil, &ValidationError{Param: name, Message: name + " is given more than once"}
		case len(all) == 0 || all[0] == "":
			return nil, &ValidationError{Param: name, Message: name + " must not be empty"}
		case !utf8.ValidString(all[0]):
			return nil, &ValidationError{Param: name, Message: name + " must be valid UTF-8"}
		case strings.IndexByte(all[0], 0) >= 0:
			return nil, &ValidationError{Param: name, Message: name + " must not contain the NUL character"}
		default:
			given[name] = p.typed(all[0])
		}
	}
	return o.bind(given)
}

// Arguments validates the arguments of the operation's MCP tool with the rules of Query.
// raw is a JSON object or empty.
func (o *Operation) Arguments(raw []byte) (Values, error) {
	if len(raw) == 0 {
		return o.bind(map[string]any{})
	}
	v, errs := o.input.Decode(raw)
	if errs != nil {
		return nil, &errs[0]
	}
	return o.values(v.(map[string]any)), nil
}

func (o *Operation) bind(given map[string]any) (Values, error) {
	if errs := o.input.validate(given); errs != nil {
		return nil, &errs[0]
	}
	return o.values(given), nil
}

// values returns the validated parameters with the defaults of those left out.
func (o *Operation) values(given map[string]any) Values {
	bound := make(Values, len(o.Parameters))
	for _, p := range o.Parameters {
		switch v := given[p.Name].(type) {
		case json.Number:
			i, _ := v.Int64() // an integer within the bounds of the schema
			bound[p.Name] = int(i)
		case string:
			bound[p.Name] = v
		default:
			if p.Default != nil {
				bound[p.Name] = p.Default
			}
		}
	}
	return bound
}

// typed converts a query value to the type of its parameter. A text that is not a
// plain decimal number stays a string, for which the schema reports an error.
func (p *Parameter) typed(s string) any {
	if !p.Integer {
		return s
	}
	if i, err := strconv.Atoi(s); err == nil && strconv.Itoa(i) == s {
		return json.Number(s)
	}
	return s
}
