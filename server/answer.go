package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"govsvc/server/api"
)

// compressFrom is the size in bytes from which an answer is worth compressing:
// below it head and body leave in one packet anyway.
const compressFrom = 1400

// send answers with a success. Reads carry a strong ETag: a hash of the very
// bytes, one for each encoding.
func (x *request) send(answer api.Answer) {
	if x.read != nil {
		answer = x.read.Answer
	} else {
		answer.Body = slices.Clip(answer.Body) // a stored answer can be shared
		answer = withNewline(answer)
	}
	h := x.w.Header()
	x.limitHeaders()
	if answer.NextCursor != "" {
		h.Set("X-Next-Cursor", answer.NextCursor)
	}
	if answer.ContentType != "" {
		h.Set("Content-Type", answer.ContentType)
	}
	compressed := len(answer.Body) >= compressFrom && acceptsGzip(x.r.Header.Values("Accept-Encoding"))
	if x.read != nil {
		tag := x.read.tag
		if compressed {
			h["ETag"] = []string{`"` + tag + `-gzip"`} // spelt as specified
		} else {
			h["ETag"] = []string{`"` + tag + `"`}
		}
		if matches(x.r.Header.Values("If-None-Match"), tag) {
			h.Del("Content-Type")
			x.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body := answer.Body
	if compressed {
		h.Set("Content-Encoding", "gzip")
		if x.read != nil {
			body = x.read.compressed()
		} else {
			body = compress(body)
		}
	}
	held := len(body)
	if x.read != nil && compressed {
		held += len(answer.Body) // which is as long in memory
	}
	x.memory.Settle(int64(held))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(answer.Status)
	x.write(body)
}

// withNewline ends a JSON body with a line feed, for clients that show or append
// it line by line. The entity tag, the length and compression include it.
func withNewline(answer api.Answer) api.Answer {
	if answer.ContentType == api.JSON {
		answer.Body = append(answer.Body, '\n')
	}
	return answer
}

func entityTag(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// matches tells whether If-None-Match names the tag, in whichever encoding
// (RFC 9110, section 13.1.2).
func matches(headers []string, tag string) bool {
	for _, header := range headers {
		for _, candidate := range strings.Split(header, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == "*" || candidate == `"`+tag+`"` || candidate == `"`+tag+`-gzip"` {
				return true
			}
		}
	}
	return false
}

// acceptsGzip reads Accept-Encoding (RFC 9110, section 12.5.3): gzip itself or
// *, with a weight above 0.
func acceptsGzip(headers []string) bool {
	star := false
	for _, header := range headers {
		for _, part := range strings.Split(header, ",") {
			coding, weight, _ := strings.Cut(part, ";")
			_, q, weighted := strings.Cut(strings.ToLower(strings.TrimSpace(weight)), "q=")
			value, err := strconv.ParseFloat(q, 64)
			wanted := !weighted || err == nil && value > 0
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return wanted
			case "*":
				star = wanted
			}
		}
	}
	return star
}

var compressors = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

func compress(body []byte) []byte {
	var out bytes.Buffer
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(&out)
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}
