package web

import (
	"errors"
	"net/http"

	"govsvc/server/limit"
)

// requestsAtOnce is how many requests of one user may be in progress
// (doc/security.md).
const requestsAtOnce = 32

// pageMemory is reserved for a page while it is made: its records, at most 1 MB
// of them, decoded, and the HTML.
const pageMemory = 4 << 20

// sentMemory is what a download holds while it is sent.
const sentMemory = 64 << 10

var (
	tooManyAtOnce = problem{http.StatusTooManyRequests, "Too much at once", "Too many of your requests are in progress. Wait until they are through, then try again."}
	noMemory      = problem{http.StatusServiceUnavailable, "The service is busy", "Too many large responses are being sent. Try again in a moment."}
)

// begin counts a request of a signed-in user.
func (v *visit) begin() error {
	if !v.signedIn() {
		return nil
	}
	user := v.session.User.ID
	if !v.progress.Begin(user) {
		v.w.Header().Set("Retry-After", "1")
		return &tooManyAtOnce
	}
	v.counted = user
	return nil
}

// end gives back what the request holds. It is called when the response has been
// sent, the page about a problem included.
func (v *visit) end() {
	v.memory.Release()
	if v.counted != "" {
		v.progress.End(v.counted)
	}
}

// reserve waits until the process has room for the page of a signed-in user. The
// room is given back when the page has been sent.
func (v *visit) reserve() (err error) {
	if !v.signedIn() {
		return nil
	}
	v.memory, err = v.Responses.Reserve(v.r.Context(), "user:"+v.session.User.ID, pageMemory)
	if errors.Is(err, limit.ErrNoMemory) {
		v.w.Header().Set("Retry-After", "1")
		return &noMemory
	}
	return err
}
