package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/web/ui"
)

// Problem is an error as a page shows it.
type Problem struct {
	Status int
	Title  string
	Advice string // what is wrong and what to do
}

func (p *Problem) Error() string { return p.Title }

// NewProblem returns a problem with the usual title of its status.
func NewProblem(status int, advice string) *Problem {
	return &Problem{status, titles[status], advice}
}

var (
	// NotFound answers requests for a page or a record that does not exist.
	NotFound = Problem{http.StatusNotFound, "Page not found", "The address is wrong, or the record was removed."}

	internalError = Problem{http.StatusInternalServerError, "Something went wrong on our side", "The error was logged. Try again. If it happens again, report it with the id below."}
)

// statusOf maps the refusals of operations to status codes. Others are internal
// errors.
var statusOf = map[api.Code]int{
	api.NotFound: http.StatusNotFound, api.ResourceConflict: http.StatusConflict,
	api.InvalidParameter: http.StatusBadRequest, api.InvalidCursor: http.StatusBadRequest,
	api.TierRequired: http.StatusForbidden, api.SubscriptionInactive: http.StatusForbidden, api.InsufficientScope: http.StatusForbidden,
	api.PayloadTooLarge: http.StatusRequestEntityTooLarge, api.UnsupportedMediaType: http.StatusUnsupportedMediaType,
	api.RateLimitExceeded: http.StatusTooManyRequests, api.ServiceUnavailable: http.StatusServiceUnavailable,
}

var titles = map[int]string{
	http.StatusBadRequest:            "The request is not valid",
	http.StatusForbidden:             "Not available",
	http.StatusConflict:              "This conflicts with the current data",
	http.StatusRequestEntityTooLarge: "Too large",
	http.StatusUnsupportedMediaType:  "Unsupported form",
	http.StatusTooManyRequests:       "Too many attempts",
	http.StatusServiceUnavailable:    "The data file is not available right now",
}

// fail answers with a page about the error. Internal errors are logged, and the
// page shows the id of the request only. The log has the pattern of the page
// instead of its path, because a path can contain a secret by mistake.
func (s *Server) fail(r *Request, err error) {
	if db.Is(err, db.Unauthenticated) { // the session ended during the request
		r.ClearSession()
		_ = r.Redirect(signInPath(r))
		return
	}
	if r.Context().Err() != nil && errors.Is(err, r.Context().Err()) {
		r.Writer.WriteHeader(http.StatusServiceUnavailable) // for the access log: the client has gone
		return
	}
	p := problemOf(r, err)
	switch {
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		s.Logger.Debug("client has gone", "request_id", r.ID, "page", r.route.Pattern)
	case p.Status >= http.StatusInternalServerError && !db.Is(err, db.Busy):
		s.Logger.Error("page failed", "request_id", r.ID, "page", r.route.Pattern, "error", err)
	}
	s.renderProblem(r, p)
}

// problemOf returns what the user can know about an error.
func problemOf(r *Request, err error) *Problem {
	var known *Problem
	if errors.As(err, &known) {
		return known
	}
	if db.Is(err, db.SearchTimeout) {
		return &Problem{http.StatusServiceUnavailable, "The search took too long", Message(err)}
	}
	retry := setRetryAfter(r, err)
	switch {
	case db.Is(err, db.SearchBusy):
		return &Problem{http.StatusTooManyRequests, "Your searches are still running", Message(err)}
	case retry && db.Is(err, db.Busy):
		return &Problem{http.StatusServiceUnavailable, "Too many requests right now", Message(err)}
	case retry:
		return NewProblem(http.StatusTooManyRequests, Message(err))
	}
	refusal := api.Refusal(err)
	status, ok := statusOf[refusal.Code]
	if !ok {
		return &internalError
	}
	if status == http.StatusNotFound {
		return &NotFound
	}
	return NewProblem(status, ui.Sentence(refusal.Message))
}

// setRetryAfter sets the header Retry-After and returns true if the error says
// how long to wait.
func setRetryAfter(r *Request, err error) bool {
	wait := retryAfter(err)
	if wait > 0 {
		r.Writer.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	return wait > 0
}

// retryAfter returns how long to wait after Throttled, Busy or SearchBusy, and 0
// for other errors.
func retryAfter(err error) time.Duration {
	var stored *db.Error
	if errors.As(err, &stored) && (stored.Code == db.Throttled || stored.Code == db.Busy || stored.Code == db.SearchBusy) {
		return max(stored.RetryAfter, time.Second)
	}
	return 0
}

// Message returns the message of an error of the store as a sentence.
func Message(err error) string {
	var stored *db.Error
	if errors.As(err, &stored) {
		return ui.Sentence(stored.Message)
	}
	return ui.Sentence(err.Error())
}

// renderProblem sends the page about a problem.
func (s *Server) renderProblem(r *Request, p *Problem) {
	data := struct{ Title, Advice, RequestID string }{p.Title, p.Advice, r.ID}
	if err := r.RenderStatus(p.Status, "problem", p.Title, data); err != nil {
		s.Logger.Error("the page about a problem failed", "request_id", r.ID, "error", err)
		http.Error(r.Writer, fmt.Sprintf("%s (%s)", p.Title, r.ID), p.Status)
	}
}
