package web

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

// problem is a failure as a page shows it.
type problem struct {
	status int
	title  string
	advice string // what was wrong and what to do
}

func (p *problem) Error() string { return p.title }

var (
	nothingHere    = problem{http.StatusNotFound, "There is nothing here", "The address is wrong, or what it led to has been removed."}
	somethingWrong = problem{http.StatusInternalServerError, "Something went wrong on our side", "It has been logged. Try again; if it stays, report it with the id below."}
)

// statusOf is how the refusals of operations are answered.
var statusOf = map[api.Code]int{
	api.NotFound: http.StatusNotFound, api.ResourceConflict: http.StatusConflict,
	api.InvalidParameter: http.StatusBadRequest, api.InvalidCursor: http.StatusBadRequest,
	api.TierRequired: http.StatusForbidden, api.SubscriptionInactive: http.StatusForbidden, api.InsufficientScope: http.StatusForbidden,
	api.PayloadTooLarge: http.StatusRequestEntityTooLarge, api.UnsupportedMediaType: http.StatusUnsupportedMediaType,
	api.RateLimitExceeded: http.StatusTooManyRequests, api.ServiceUnavailable: http.StatusServiceUnavailable,
}

var titles = map[int]string{
	http.StatusBadRequest:            "That could not be understood",
	http.StatusForbidden:             "Not included",
	http.StatusConflict:              "That does not fit what is there",
	http.StatusRequestEntityTooLarge: "That is too large",
	http.StatusUnsupportedMediaType:  "That is not a form",
	http.StatusTooManyRequests:       "Too many tries",
	http.StatusServiceUnavailable:    "The data file can't be used right now",
}

// fail answers with a page about the error. What a user may not know is
// logged, and shown as its request id alone. The log has the page's pattern: a
// path may hold what is secret, such as a key that somebody put there.
func (v *visit) fail(err error) {
	if db.Is(err, db.Unauthenticated) { // the session has ended meanwhile
		v.clearCookie(sessionCookie)
		v.redirect(v.signInPath())
		return
	}
	if v.r.Context().Err() != nil && errors.Is(err, v.r.Context().Err()) {
		v.w.WriteHeader(http.StatusServiceUnavailable) // for the access log: the client has gone, and its work has stopped
		return
	}
	p := v.explain(err)
	switch {
	case errors.Is(err, context.Canceled) && v.r.Context().Err() != nil: // nobody reads the answer
		v.Logger.Debug("client has left", "request_id", v.requestID, "page", v.page.pattern)
	case p.status >= http.StatusInternalServerError && !db.Is(err, db.Busy):
		v.Logger.Error("page failed", "request_id", v.requestID, "page", v.page.pattern, "error", err)
	}
	v.show(p)
}

// explain gives any error the form that a user may see.
func (v *visit) explain(err error) *problem {
	var known *problem
	if errors.As(err, &known) {
		return known
	}
	if db.Is(err, db.SearchTimeout) {
		return &problem{http.StatusServiceUnavailable, "The search took too long", message(err)}
	}
	if db.Is(err, db.SearchBusy) {
		v.waitFor(err)
		return &problem{http.StatusTooManyRequests, "Your searches are still running", message(err)}
	}
	if v.waitFor(err) {
		if db.Is(err, db.Busy) {
			return &problem{http.StatusServiceUnavailable, "Too many requests right now", message(err)}
		}
		return &problem{http.StatusTooManyRequests, titles[http.StatusTooManyRequests], message(err)}
	}
	refusal := api.Refusal(err)
	status, ok := statusOf[refusal.Code]
	if !ok {
		return &somethingWrong
	}
	if status == http.StatusNotFound {
		return &nothingHere
	}
	return &problem{status, titles[status], ui.Sentence(refusal.Message)}
}

// waitFor sets Retry-After where an error says how long to wait, and reports
// whether it does.
func (v *visit) waitFor(err error) bool {
	wait := retryAfter(err)
	if wait > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	return wait > 0
}

// retryAfter is how long to wait after Throttled or Busy; 0 for other errors.
func retryAfter(err error) time.Duration {
	var stored *db.Error
	if errors.As(err, &stored) && (stored.Code == db.Throttled || stored.Code == db.Busy || stored.Code == db.SearchBusy) {
		return max(stored.RetryAfter, time.Second)
	}
	return 0
}

// message is what an error of the store tells the user.
func message(err error) string {
	var stored *db.Error
	if errors.As(err, &stored) {
		return ui.Sentence(stored.Message)
	}
	return ui.Sentence(err.Error())
}

// show sends the page about a problem.
func (v *visit) show(p *problem) {
	data := struct{ Title, Advice, RequestID string }{p.title, p.advice, v.requestID}
	if err := v.renderStatus(p.status, "problem", p.title, data); err != nil {
		v.Logger.Error("the page about a problem failed", "request_id", v.requestID, "error", err)
		http.Error(v.w, fmt.Sprintf("%s (%s)", p.title, v.requestID), p.status)
	}
}
