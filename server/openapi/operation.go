package openapi

import (
	"encoding/json"
	"slices"
)

// Idempotency says whether an operation takes the header Idempotency-Key.
type Idempotency int

// The three answers to "does this operation take an Idempotency-Key?".
const (
	NoIdempotency       Idempotency = iota // reads, the public operations and MCP
	OptionalIdempotency                    // PATCH and DELETE
	RequiredIdempotency                    // POST on a creating endpoint
)

// Operation is one of the operations of the document, ready to be mounted.
type Operation struct {
	ID          string // operationId, e.g. "createRisk"
	Method      string // in capitals
	Path        string // below the base URL, e.g. "/risks/{id}"
	Summary     string
	Description string
	Scope       string // the scope a key must hold; "" where any key will do
	Feature     string // the plan's feature it needs: "incidents", "audit" or ""
	Public      bool   // needs no credential
	Idempotency Idempotency
	MaxBody     int64 // largest request body in bytes; 0 where there is none
	Status      int   // status of its success

	Parameters   []*Parameter // those of the query, in document order
	Body         *Schema      // request body; nil where there is none
	BodyOptional bool         // an empty body counts as {}
	Tool         *Tool        // its MCP tool; nil where there is none
	Returns      Returns
	Response     *Schema // its JSON success; nil where the document gives no schema

	input *Schema // the query parameters as one closed object
}

// Parameter is a query parameter.
type Parameter struct {
	Name        string
	Description string
	Integer     bool
	Default     any      // int for an integer, string otherwise; nil without one
	Enum        []string // the values allowed; nil where they are free
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

// Tool is what MCP shows of an operation.
type Tool struct {
	Name        string
	Title       string
	Description string
	Input       json.RawMessage // closed JSON Schema of the arguments
	Output      json.RawMessage // open JSON Schema of the structured content
}

// Returns says what an operation's success holds. At most one of List, One
// and Current is set, to the name of a component schema.
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
