package api

import (
	"context"
	"time"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// list makes the operation that pages through the records of a resource.
func list(r *resource.Resource) Operation {
	return func(ctx context.Context, c *Caller, in Input) (Result, error) {
		q := db.ListQuery{Limit: in.Query.Int("limit"), Cursor: in.Query.String("cursor"), Filters: map[string]string{}}
		for parameter := range r.List.Filters {
			if value := in.Query.String(parameter); value != "" {
				q.Filters[parameter] = value
			}
		}
		var err error
		if q.UpdatedSince, err = instant(in.Query, "updated_since"); err != nil {
			return nil, err
		}
		var page db.Page
		err = in.sized(ctx, func(size db.PageSize) (err error) {
			q.Size = size
			page, err = c.Store.List(ctx, c.Organisation, r, q)
			return err
		})
		return Page(page), err
	}
}

// current makes the operation that reads the current object of a resource. The
// object is null if the organisation has none yet.
func current(r *resource.Resource) Operation {
	return func(ctx context.Context, c *Caller, in Input) (Result, error) {
		object := Object{Status: 200, Type: r.Current.Object}
		err := in.sized(ctx, func(size db.PageSize) (err error) {
			object.JSON, err = c.Store.Current(ctx, c.Organisation, r)
			if err == nil && size.Small > 0 && len(object.JSON) > size.Small {
				object.JSON, err = nil, db.ErrLargePage
			}
			return err
		})
		return object, err
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
