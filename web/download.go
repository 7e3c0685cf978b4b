package web

import (
	"mime"
	"net/http"
	"strconv"
	"sync"
)

// downloads are the users who are sent a file that takes long to make: one file
// at a time each.
type downloads struct {
	mutex sync.Mutex
	users map[string]bool
}

// begin refuses a second file of a user. The caller must call end.
func (d *downloads) begin(user string) (end func(), err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.users[user] {
		return nil, &problem{
			http.StatusTooManyRequests, "A download of yours is running",
			"One file at a time is sent to each user. Wait for it to end, or cancel it, and download this one again.",
		}
	}
	if d.users == nil {
		d.users = map[string]bool{}
	}
	d.users[user] = true
	return func() {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		delete(d.users, user)
	}, nil
}

// download is a file that is sent while it is being made. Its headers go with
// the first bytes, so that a failure before them is still a page.
type download struct {
	*visit
	name        string
	contentType string
	size        int64 // in bytes, if it is known
	begun       bool
}

func (d *download) Write(p []byte) (int, error) {
	if !d.begun {
		d.begin()
	}
	d.unhurried(stalled)
	return d.w.Write(p)
}

func (d *download) begin() {
	d.begun = true
	d.memory.Settle(sentMemory)
	h := d.w.Header()
	h.Set("Content-Type", d.contentType)
	h.Set("Content-Disposition", disposition(d.name))
	if d.size > 0 {
		h.Set("Content-Length", strconv.FormatInt(d.size, 10))
	}
	d.w.WriteHeader(http.StatusOK)
}

// end cuts off what failed half-way, so that nobody takes it for the whole.
func (d *download) end(err error) error {
	switch {
	case err != nil && d.begun:
		d.Logger.Warn("download cut off", "request_id", d.requestID, "page", d.page.pattern, "error", err)
		panic(http.ErrAbortHandler)
	case err == nil && !d.begun:
		d.begin()
	}
	return err
}

// disposition is the header that has a browser save an answer under a name.
func disposition(name string) string {
	return mime.FormatMediaType("attachment", map[string]string{"filename": name})
}
