package web

import (
	"net/http"
	"strconv"
	"time"

	"govsvc/server/limit"
)

// limitedAddresses is how many addresses have limits of their own, for each of
// pages, files and downloads. Further ones share one.
const limitedAddresses = 10_000

// rateLimits count the requests of each address. Pages, the files that pages need,
// and downloads are counted apart, so that none of them uses up another.
type rateLimits struct{ pages, files, downloads *limit.Limiter }

func newRateLimits(now func() time.Time) rateLimits {
	return rateLimits{limit.New(now, limitedAddresses), limit.New(now, limitedAddresses), limit.New(now, limitedAddresses)}
}

// allow takes one of the requests that the client's address has. Where it has
// none left, allow sets Retry-After and returns false.
func (s *Site) allow(w http.ResponseWriter, r *http.Request, limiter *limit.Limiter) bool {
	if s.AnonymousPerMinute <= 0 {
		return true
	}
	state := limiter.Allow(s.ClientGroup(r), limit.Rate{PerMinute: s.AnonymousPerMinute})
	if !state.Allowed {
		seconds := (state.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(seconds))))
	}
	return state.Allowed
}

// limited refuses a page or a download to an address that has requested too
// many.
func (v *visit) limited() error {
	limiter, what := v.rates.pages, "pages"
	if v.page.download {
		limiter, what = v.rates.downloads, "downloads"
	}
	if v.allow(v.w, v.r, limiter) {
		return nil
	}
	return &problem{
		http.StatusTooManyRequests, "Too many requests",
		"Your network address has requested too many " + what + " in a short time. Wait " + v.w.Header().Get("Retry-After") + " s, then reload the page.",
	}
}
