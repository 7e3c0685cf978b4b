package page

import (
	"errors"
	"net/http"

	"govsvc/server/limit"
)

// requestsAtOnce is the number of requests that a user can have in progress
// (doc/security.md).
const requestsAtOnce = 32

// pageMemory is reserved while a page is made, for its records, at most 1 MB of
// them, decoded, and for the HTML.
const pageMemory = 4 << 20

// sentMemory is reserved while a download is sent.
const sentMemory = 64 << 10

var (
	tooManyAtOnce = Problem{http.StatusTooManyRequests, "Too much at once", "Too many of your requests are in progress. Wait until they are complete, then try again."}
	noMemory      = Problem{http.StatusServiceUnavailable, "The service is busy", "Too many large responses are being sent. Try again in a moment."}
)

// countRequest counts a request of a signed-in user.
func (s *Server) countRequest(r *Request) error {
	if !r.SignedIn() {
		return nil
	}
	user := r.Session.User.ID
	if !s.requests.Begin(user) {
		r.Writer.Header().Set("Retry-After", "1")
		return &tooManyAtOnce
	}
	r.counted = user
	return nil
}

// release frees what the request holds, after the response was sent.
func (s *Server) release(r *Request) {
	r.memory.Release()
	if r.counted != "" {
		s.requests.End(r.counted)
	}
}

// reserveMemory waits until the process has memory for the page of a signed-in
// user. release frees it.
func (s *Server) reserveMemory(r *Request) (err error) {
	if !r.SignedIn() {
		return nil
	}
	r.memory, err = s.Responses.Reserve(r.Context(), "user:"+r.Session.User.ID, pageMemory)
	if errors.Is(err, limit.ErrNoMemory) {
		r.Writer.Header().Set("Retry-After", "1")
		return &noMemory
	}
	return err
}
