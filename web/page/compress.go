package page

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// minCompress is the size in bytes from which a page is compressed: about one packet.
const minCompress = 1400

var compressors = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// compressPage returns a page in gzip, or unchanged if it is small or the browser does not
// accept gzip. It compresses only what the user asked for: another site that sends
// requests in the user's name could guess texts of a page from compressed sizes (BREACH).
func compressPage(r *http.Request, header http.Header, page []byte) []byte {
	from := r.Header.Get("Sec-Fetch-Site")
	if len(page) < minCompress || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") || from != "same-origin" && from != "none" {
		return page
	}
	var out bytes.Buffer
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(&out)
	_, _ = w.Write(page) // a write to a buffer never fails
	_ = w.Close()
	header.Set("Content-Encoding", "gzip")
	return out.Bytes()
}
