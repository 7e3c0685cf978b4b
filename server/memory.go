package server

import (
	"context"
	"errors"

	"govsvc/server/api"
	"govsvc/server/limit"
)

// errNoMemory refuses a request whose response found no room for too long.
var errNoMemory = &api.Error{
	Code: api.ServiceUnavailable, Err: limit.ErrNoMemory,
	Message: "too many bytes of responses are in flight; read those that wait, then try again",
}

// responder is the name that a response is reserved for: the key, or else the
// client's address.
func (x *exchange) responder() string {
	if x.counted != "" {
		return "key:" + x.counted
	}
	return "address:" + x.address
}

// reserve waits until the process has room for a response of so many bytes.
func (x *exchange) reserve(bytes int64) error {
	var err error
	x.memory, err = x.Responses.Reserve(x.r.Context(), x.responder(), bytes)
	return noMemory(err)
}

// large exchanges what is reserved for a small response for the room that a
// large one takes. Nothing is held while it waits.
func (x *exchange) large(ctx context.Context) error {
	return noMemory(x.memory.Exchange(ctx, limit.LargeResponse))
}

func noMemory(err error) error {
	if errors.Is(err, limit.ErrNoMemory) {
		return errNoMemory
	}
	return err
}

// end gives back what the request held. Its response has been handed to the
// system by then, all but the last 4 KB at most.
func (x *exchange) end() {
	x.memory.Release()
	if x.counted != "" {
		x.inProgress.End(x.counted)
	}
}
