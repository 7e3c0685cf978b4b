package api

import (
	"bytes"
	"strconv"

	"govsvc/db"
)

// Result is what an operation returns: an Object, a Page, or one of those with
// further fields. Package server sends its Response; the dashboard reads its
// fields.
type Result interface {
	// Response encodes the result as HTTP and MCP send it.
	Response() Response
}

// Response is the encoded form of a success.
type Response struct {
	Status      int
	ContentType string
	Body        []byte
	NextCursor  string // sent as X-Next-Cursor if the body has no place for it
}

// Media types of responses.
const (
	JSON   = "application/json"
	NDJSON = "application/x-ndjson"
)

// Object is one object of the API.
type Object struct {
	Status int    // of HTTP: 201 for an object that was created
	Type   string // the resource, or the type of what the operation returns
	ID     string // of the record; "" for an object without one
	JSON   []byte // as the API returns it; nil is null
}

// Response puts the object into its envelope.
func (o Object) Response() Response {
	return Response{Status: o.Status, ContentType: JSON, Body: objectEnvelope(o.Type, o.JSON)}
}

// Page is a page of a list.
type Page struct {
	Rows    []byte // the objects as JSON, with commas between them
	HasMore bool
	Next    string // the cursor of the next page; "" on the last
}

// Response puts the page into its envelope. The body can take the place of Rows, which
// must not be used any more.
func (p Page) Response() Response {
	return Response{Status: 200, ContentType: JSON, Body: listEnvelope(p.Rows, p.HasMore, p.Next)}
}

// AuditPage is a page of the audit log.
type AuditPage struct {
	db.AuditPage
	Lines bool // as lines of JSON instead of a list
}

// Response encodes the page in the format that was asked for.
func (p AuditPage) Response() Response {
	if p.Lines {
		return Response{Status: 200, ContentType: NDJSON, Body: lines(p.Events), NextCursor: p.Next}
	}
	rows := bytes.Join(p.Events, []byte{','})
	return Response{Status: 200, ContentType: JSON, Body: listEnvelope(rows, p.HasMore, p.Next)}
}

// lines puts each event on a line.
func lines(events [][]byte) []byte {
	var body bytes.Buffer
	for _, event := range events {
		body.Write(event)
		body.WriteByte('\n')
	}
	return body.Bytes()
}

// The envelopes of the specification. The rows are JSON from the store, so the
// envelope is concatenated, not encoded.

const listStart = `{"object":"list","api_version":"` + db.APIVersion + `","data":[`

// listEnvelope returns the envelope of a list. If the capacity of rows is large enough,
// it is built there. A page with a row beyond its limit usually has that capacity.
func listEnvelope(rows []byte, more bool, next string) []byte {
	end := make([]byte, 0, 256)
	end = append(end, `],"has_more":`...)
	end = strconv.AppendBool(end, more)
	end = append(end, `,"next_cursor":`...)
	if next == "" {
		end = append(end, "null}"...)
	} else {
		end = append(end, '"')
		end = append(end, next...) // base64url, which needs no escaping
		end = append(end, `"}`...)
	}
	size := len(listStart) + len(rows) + len(end)
	body := rows
	// The line feed that follows has room as well. Much unused room would stay in memory
	// as long as the response.
	if spare := cap(body) - size; spare < len("\n") || spare > maxSpare {
		body = make([]byte, 0, size+len("\n"))
	}
	body = body[:size]
	copy(body[len(listStart):], rows)
	copy(body, listStart)
	copy(body[size-len(end):], end)
	return body
}

// maxSpare bounds the unused capacity of the body of a list.
const maxSpare = 1 << 10

func objectEnvelope(object string, data []byte) []byte {
	if data == nil {
		data = []byte("null")
	}
	body := make([]byte, 0, len(data)+len(object)+96)
	body = append(body, `{"object":"`...)
	body = append(body, object...)
	body = append(body, `","api_version":"`+db.APIVersion+`","data":`...)
	body = append(body, data...)
	return append(body, `,"has_more":false,"next_cursor":null}`...)
}
