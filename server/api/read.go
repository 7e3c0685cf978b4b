package api

import (
	"context"
	"strconv"
	"time"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// list makes the operation that pages through the records of a resource.
func list(r *resource.Resource) Operation {
	return func(ctx context.Context, c *Caller, in Input) (Answer, error) {
		q := db.ListQuery{Limit: in.Query.Int("limit"), Cursor: in.Query.String("cursor"), Filters: map[string]string{}}
		for parameter := range r.List.Filters {
			if value := in.Query.String(parameter); value != "" {
				q.Filters[parameter] = value
			}
		}
		var err error
		if q.UpdatedSince, err = instant(in.Query, "updated_since"); err != nil {
			return Answer{}, err
		}
		var page db.Page
		err = in.sized(ctx, func(size db.PageSize) (err error) {
			q.Size = size
			page, err = c.Store.List(ctx, c.Organisation, r, q)
			return err
		})
		if err != nil {
			return Answer{}, err
		}
		return Answer{Status: 200, ContentType: JSON, Body: listEnvelope(page.Rows, page.HasMore, page.Next)}, nil
	}
}

// current makes the operation that reads the current object of a resource. Its
// data is null when the organisation has none yet.
func current(r *resource.Resource) Operation {
	return func(ctx context.Context, c *Caller, in Input) (Answer, error) {
		var object []byte
		err := in.sized(ctx, func(size db.PageSize) (err error) {
			object, err = c.Store.Current(ctx, c.Organisation, r)
			if err == nil && size.Small > 0 && len(object) > size.Small {
				object, err = nil, db.ErrLargePage
			}
			return err
		})
		if err != nil {
			return Answer{}, err
		}
		return Answer{Status: 200, ContentType: JSON, Body: objectEnvelope(r.Current.Object, object)}, nil
	}
}

// instant reads a parameter that is a date or a timestamp, in the form in which
// instants are stored; "" where it is absent.
func instant(query openapi.Values, name string) (string, error) {
	text := query.String(name)
	if text == "" {
		return "", nil
	}
	return parseInstant(name, text)
}

// parseInstant reads a date or a timestamp in the form in which instants are
// stored.
func parseInstant(name, text string) (string, error) {
	at, err := openapi.ParseInstant(text)
	if err != nil {
		return "", &Error{Code: InvalidParameter, Param: name, Message: name + " must be an ISO-8601 date or an RFC 3339 timestamp", Err: err}
	}
	// stored instants are whole milliseconds: the next one is the first that can
	// be at or after this
	next := at.Add(time.Millisecond - 1).Truncate(time.Millisecond)
	if next.Year() > 9999 { // which would sort before all others, as text
		next = next.Add(-time.Millisecond)
	}
	return db.Timestamp(next), nil
}

// The envelopes of the specification. Rows come as JSON from the store, so the
// page is put together, not encoded.

const listStart = `{"object":"list","api_version":"` + db.APIVersion + `","data":[`

func listEnvelope[Text string | []byte](rows Text, more bool, next string) []byte {
	body := make([]byte, 0, len(listStart)+len(rows)+len(next)+48)
	body = append(body, listStart...)
	body = append(body, rows...)
	body = append(body, `],"has_more":`...)
	body = strconv.AppendBool(body, more)
	body = append(body, `,"next_cursor":`...)
	if next == "" {
		return append(body, "null}"...)
	}
	body = append(body, '"')
	body = append(body, next...) // base64url, which needs no escaping
	return append(body, `"}`...)
}

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
