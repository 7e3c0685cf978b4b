// Package openapi has the API's document: OpenAPI 3.1 in pieces of YAML, one for
// each resource. They are merged, expanded, checked and compiled at start.
//
// Routes, scopes, the validation of queries and bodies, the index, the MCP tools
// and the data format of import and export are all derived from it. They therefore
// agree with the document at /openapi.json.
package openapi

// Document is the compiled document. It is safe for concurrent use.
type Document struct {
	Version    string       // the served version, e.g. "2026-09-12"
	Operations []*Operation // in document order

	public  []publicMember // the document as it is published, see Published
	schemas map[string]*Schema
	records []record
	events  []EventType
}

// record is one object type of the data format.
type record struct {
	object  string
	aliases []string // other names of the same object in the API
	key     []string
	schema  *Schema
	json    []byte // its schema as a document, see RecordSchema
}

// Operation returns the operation of that operationId, or nil.
func (d *Document) Operation(id string) *Operation {
	for _, op := range d.Operations {
		if op.ID == id {
			return op
		}
	}
	return nil
}

// Schema returns the component schema of that name, or nil.
func (d *Document) Schema(name string) *Schema { return d.schemas[name] }

// RecordTypes returns the object types of the data format in the order of an
// import: a type comes after the types that it refers to.
func (d *Document) RecordTypes() []string {
	names := make([]string, len(d.records))
	for i := range d.records {
		names[i] = d.records[i].object
	}
	return names
}

// RecordType returns the object type of the data format that an API object of
// that name is imported as ("score" and "scorecard" are "assessment"), or "".
func (d *Document) RecordType(object string) string {
	if r := d.record(object); r != nil {
		return r.object
	}
	return ""
}

// Record returns the data-format schema of an object type, or nil.
func (d *Document) Record(object string) *Schema {
	if r := d.record(object); r != nil {
		return r.schema
	}
	return nil
}

// RecordSchema returns the JSON Schema of an object type of the data format, or
// nil.
func (d *Document) RecordSchema(object string) []byte {
	if r := d.record(object); r != nil {
		return r.json
	}
	return nil
}

// RecordKey returns the members of an object type's natural key, or nil.
func (d *Document) RecordKey(object string) []string {
	if r := d.record(object); r != nil {
		return r.key
	}
	return nil
}

func (d *Document) record(object string) *record {
	for i := range d.records {
		r := &d.records[i]
		if r.object == object {
			return r
		}
		for _, alias := range r.aliases {
			if alias == object {
				return r
			}
		}
	}
	return nil
}
