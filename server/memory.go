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

// What large bodies of requests take in memory.
const (
	// smallBody is the size in bytes up to which a body needs no reservation.
	smallBody = 8 << 10
	// readFactor is what a body takes while it is read, in times its size.
	readFactor = 2
	// decodeFactor is what a body takes while it is decoded, in times its size.
	decodeFactor = 24
	// decodingBytes is the default size of Config.Decoding. Two of the largest
	// bodies fit.
	decodingBytes = 40 << 20
)

// errNoBodyMemory refuses a request whose body found no room for too long.
var errNoBodyMemory = &api.Error{
	Code: api.ServiceUnavailable, Err: limit.ErrNoMemory,
	Message: "too many large bodies of requests are being read; try again in a moment",
}

// reserveBody waits until the process has room for a body of so many bytes. The
// room is held until the response has its own.
func (x *request) reserveBody(size int64) error {
	if size <= smallBody {
		return nil
	}
	var err error
	x.memory, err = x.Responses.Reserve(x.r.Context(), x.responder(), readFactor*size)
	return noBodyMemory(err)
}

// decoding waits until the process has room to decode a body. The caller calls
// done when that has ended. Nothing that is reserved for it waits for others.
func (x *request) decoding(body []byte) (done func(), err error) {
	if len(body) <= smallBody {
		return func() {}, nil
	}
	room, err := x.Decoding.Reserve(x.r.Context(), x.responder(), decodeFactor*int64(len(body)))
	return room.Release, noBodyMemory(err)
}

func noBodyMemory(err error) error {
	if errors.Is(err, limit.ErrNoMemory) {
		return errNoBodyMemory
	}
	return err
}

// responder is the name that a response is reserved for: the key, or else the
// client's address.
func (x *request) responder() string {
	if x.counted != "" {
		return "key:" + x.counted
	}
	return "address:" + x.address
}

// reserve waits until the process has room for a response of so many bytes.
func (x *request) reserve(bytes int64) error {
	x.memory.Release() // what the body of the request held
	var err error
	x.memory, err = x.Responses.Reserve(x.r.Context(), x.responder(), bytes)
	return noMemory(err)
}

// large exchanges what is reserved for a small response for the room that a
// large one takes. Nothing is held while it waits.
func (x *request) large(ctx context.Context) error {
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
func (x *request) end() {
	x.memory.Release()
	if x.counted != "" {
		x.inProgress.End(x.counted)
	}
}
