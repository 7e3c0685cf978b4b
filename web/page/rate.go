package page

import (
	"net/http"
	"strconv"
	"time"

	"govsvc/server/limit"
)

// limitedAddresses is the number of addresses with a rate limit of their own, for
// each of pages, assets and downloads. Further addresses share one.
const limitedAddresses = 10_000

// rateLimits count the requests of each address. Pages, assets and downloads have
// separate counts, so that one kind does not use up the limit of another.
type rateLimits struct{ pages, assets, downloads *limit.Limiter }

func newRateLimits(now func() time.Time) rateLimits {
	return rateLimits{limit.New(now, limitedAddresses), limit.New(now, limitedAddresses), limit.New(now, limitedAddresses)}
}

// allow counts a request of the client's address. If the limit is reached, it
// sets Retry-After and returns false.
func (s *Server) allow(w http.ResponseWriter, r *http.Request, limiter *limit.Limiter) bool {
	if s.Service.AnonymousPerMinute <= 0 {
		return true
	}
	state := limiter.Allow(s.ClientGroup(r), limit.Rate{PerMinute: s.Service.AnonymousPerMinute})
	if !state.Allowed {
		seconds := (state.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(seconds))))
	}
	return state.Allowed
}

// checkRate refuses a page or a download if its address has reached the limit.
func (s *Server) checkRate(r *Request) error {
	limiter, what := s.rates.pages, "pages"
	if r.route.Download {
		limiter, what = s.rates.downloads, "downloads"
	}
	if s.allow(r.Writer, r.HTTP, limiter) {
		return nil
	}
	return &Problem{
		http.StatusTooManyRequests, "Too many requests",
		"Your network address has requested too many " + what + " in a short time. Wait " + r.Writer.Header().Get("Retry-After") + " s, then reload the page.",
	}
}
