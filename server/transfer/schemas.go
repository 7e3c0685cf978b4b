package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// resourceSchema is a resource with the schema of its records.
type resourceSchema struct {
	*resource.Resource
	schema *openapi.Schema
	cells  []column // nil until columns is called
}

// column returns the column of a member, or nil if there is none of that name.
func (r *resourceSchema) column(name string) *column {
	all := r.columns()
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// schemas finds the schema of a record by the name of its type.
type schemas struct {
	document *openapi.Document
	known    map[string]*resourceSchema // by name, an alias or not
}

// identify sets the resource of the entry, or its errors.
func (s *schemas) identify(e *entry) {
	object, errs := objectOf(e.text)
	if errs == nil {
		if e.resource = s.find(object); e.resource == nil {
			errs = s.unknown(object)
		}
	}
	e.errs = errs
}

func (s *schemas) find(object []byte) *resourceSchema {
	if known := s.known[string(object)]; known != nil {
		return known
	}
	name := s.document.RecordType(string(object))
	if name == "" {
		return nil
	}
	made := &resourceSchema{Resource: resource.Find(name), schema: s.document.Record(name)}
	s.known[string(object)] = made
	return made
}

func (s *schemas) unknown(object []byte) []openapi.ValidationError {
	message := "object must be one of " + strings.Join(resource.Types(), ", ")
	if string(object) == "list" {
		message = "a list envelope is no record; import it with the format json"
	}
	return []openapi.ValidationError{{Param: "object", Message: message}}
}

// objectOf returns the name of a record's type without decoding the record.
func objectOf(text []byte) ([]byte, []openapi.ValidationError) {
	if object := leadingObject(text); object != nil {
		return object, nil
	}
	return searchedObject(text)
}

// leadingObject returns the name if it is the first member, as usual.
func leadingObject(text []byte) []byte {
	for _, token := range []string{"{", `"object"`, ":", `"`} {
		var found bool
		if text, found = bytes.CutPrefix(bytes.TrimLeft(text, space), []byte(token)); !found {
			return nil
		}
	}
	end := bytes.IndexAny(text, `"\`)
	if end < 0 || text[end] != '"' {
		return nil
	}
	return text[:end]
}

// searchedObject searches all members for the name. It skips errors of other
// members, because the decoding that follows reports them.
func searchedObject(text []byte) ([]byte, []openapi.ValidationError) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if decoder.PeekKind() != '{' {
		if err := decoder.SkipValue(); err != nil {
			return nil, notJSON(err)
		}
		return nil, validationErrors("", "the record must be a JSON object")
	}
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() == '"' {
		name, _ := decoder.ReadToken()
		if name.String() != "object" {
			err = decoder.SkipValue()
			continue
		}
		if kind := decoder.PeekKind(); kind != '"' && kind != 0 {
			return nil, validationErrors("object", "object must be a string")
		}
		object, err := decoder.ReadToken()
		if err != nil {
			return nil, notJSON(err)
		}
		return []byte(object.String()), nil
	}
	if err == nil {
		_, err = decoder.ReadToken()
	}
	if err != nil {
		return nil, notJSON(err)
	}
	return nil, validationErrors("object", "object is required: it names the record's type")
}

func validationErrors(member, reason string) []openapi.ValidationError {
	return []openapi.ValidationError{{Param: member, Message: reason}}
}

func notJSON(err error) []openapi.ValidationError {
	reason := "the record is not valid JSON"
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		reason = fmt.Sprintf("%s (at its byte %d)", reason, bad.ByteOffset)
	}
	return validationErrors("", reason)
}

// unfinished reports whether the error is that the JSON ends too early.
func unfinished(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) }
