package page

import (
	"mime"
	"net/http"
	"strconv"
)

// downloadsAtOnce is the number of downloads that a user can have in progress.
const downloadsAtOnce = 1

// tooManyDownloads refuses a second download of a user.
var tooManyDownloads = Problem{
	http.StatusTooManyRequests, "You have a download in progress",
	"You can download one file at a time. Wait for the other download or cancel it, then try again.",
}

// Download is a file that is sent while it is made. Its headers are sent with the
// first bytes, so that an error before them is still shown as a page.
type Download struct {
	request     *Request
	name        string
	contentType string
	size        int64
	begun       bool
}

// NewDownload begins a response with a file that the browser saves under the name. size
// is in bytes, or 0 if it is unknown.
func (r *Request) NewDownload(name, contentType string, size int64) *Download {
	return &Download{request: r, name: name, contentType: contentType, size: size}
}

// Write sends a part of the file and gives the client time to receive it.
func (d *Download) Write(p []byte) (int, error) {
	if !d.begun {
		d.begin()
	}
	d.request.ExtendDeadlines(idleTimeout)
	return d.request.Writer.Write(p)
}

func (d *Download) begin() {
	d.begun = true
	d.request.memory.Settle(sentMemory)
	h := d.request.Writer.Header()
	h.Set("Content-Type", d.contentType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.name}))
	if d.size > 0 {
		h.Set("Content-Length", strconv.FormatInt(d.size, 10))
	}
	d.request.Writer.WriteHeader(http.StatusOK)
}

// End completes the download. If it failed after its first bytes, End aborts the
// connection, so that the client does not accept an incomplete file.
func (d *Download) End(err error) error {
	switch {
	case err != nil && d.begun:
		d.request.server.Logger.Warn("download aborted", "request_id", d.request.ID, "page", d.request.route.Pattern, "error", err)
		panic(http.ErrAbortHandler)
	case err == nil && !d.begun:
		d.begin()
	}
	return err
}
