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

// resourceSchema is a resource and what its records must be like.
type resourceSchema struct {
	*resource.Resource
	schema *openapi.Schema
	cells  []column // once columns has been called
}

// column finds a member; nil if there is none of that name.
func (r *resourceSchema) column(name string) *column {
	all := r.columns()
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// schemas finds a record's schema by the name that the record gives its type.
type schemas struct {
	document *openapi.Document
	known    map[string]*resourceSchema // by the names met so far that are types
}

// decode reads a record's text into the entry, or what is wrong with it.
func (s *schemas) decode(e *entry, text []byte) {
	e.text = text
	object, faults := objectOf(text)
	if faults == nil {
		if e.resource = s.find(object); e.resource == nil {
			faults = s.unknown(object)
		}
	}
	if faults != nil {
		e.faults = faults
		return
	}
	value, faults := e.resource.schema.Decode(text)
	if e.faults = faults; faults == nil {
		e.record = value.(map[string]any) // the schemas of records are objects'
	}
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

// objectOf finds the name of a record's type without decoding the record.
func objectOf(text []byte) ([]byte, []openapi.ValidationError) {
	if object := leadingObject(text); object != nil {
		return object, nil
	}
	return searchedObject(text)
}

// leadingObject finds it where it usually is, as the first member.
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

// searchedObject finds it among all members. The decoding that follows refuses
// what is passed over here, a member given twice among it.
func searchedObject(text []byte) ([]byte, []openapi.ValidationError) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if decoder.PeekKind() != '{' {
		if err := decoder.SkipValue(); err != nil {
			return nil, notJSON(err)
		}
		return nil, wrong("", "the record must be a JSON object")
	}
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() == '"' {
		name, _ := decoder.ReadToken()
		if name.String() != "object" {
			err = decoder.SkipValue()
			continue
		}
		if kind := decoder.PeekKind(); kind != '"' && kind != 0 {
			return nil, wrong("object", "object must be a string")
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
	return nil, wrong("object", "object is required: it names the record's type")
}

func wrong(member, reason string) []openapi.ValidationError {
	return []openapi.ValidationError{{Param: member, Message: reason}}
}

func notJSON(err error) []openapi.ValidationError {
	reason := "the record is not valid JSON"
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		reason = fmt.Sprintf("%s (at its byte %d)", reason, bad.ByteOffset)
	}
	return wrong("", reason)
}

// unfinished tells whether JSON ends before its value does.
func unfinished(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) }
