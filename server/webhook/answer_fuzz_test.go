package webhook_test

import (
	"crypto/tls"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/server/webhook"
)

// FuzzAnswer lets a receiver answer with arbitrary bytes. An attempt then has either
// a status or an error. It keeps at most the first 1024 bytes of the answer, and its
// wait is never negative.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 429 Slow\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n\r\n", "HTTP/1.1 429 Slow\r\nRetry-After: 99999999999999999999\r\n\r\n",
		"HTTP/1.1 503 Busy\r\nRetry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n", "HTTP/1.1 500 \r\nRetry-After: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\x00\xff\xfe!\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:1/\r\n\r\n", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
		"HTTP/1.0 200\r\nContent-Length: 1, 2\r\n\r\n" + strings.Repeat("long ", 500), "HTTP/9.9 999 x\r\n\r\n", "HTTP/1.1 000 x\r\n\r\n", "nonsense", "",
	} {
		f.Add([]byte(seed))
	}
	var answer atomic.Pointer[[]byte]
	url := overTLS(f, func(c *tls.Conn) {
		_, _ = c.Write(*answer.Load())
		_ = c.Close()
	})
	now := time.Now()
	sender := newSender(f, func(c *webhook.SenderConfig) { c.Now = func() time.Time { return now } })
	f.Fuzz(func(t *testing.T, text []byte) {
		answer.Store(&text)
		a := send(t, sender, url)
		switch {
		case (a.Status == 0) != (a.Error != ""), a.Blocked, a.Status < 0 || a.Status > 999:
			t.Errorf("%q: %+v", text, a)
		case len(a.Answer) > 1024 || len(a.Error) > 500:
			t.Errorf("%q: kept %d bytes of the answer and %d of the error", text, len(a.Answer), len(a.Error))
		case a.RetryAfter < 0:
			t.Errorf("%q: got the wait %s, want none below 0", text, a.RetryAfter)
		}
	})
}

// FuzzVerify passes arbitrary headers to Verify. Verify accepts only headers with a
// valid signature, which may be one of several.
func FuzzVerify(f *testing.F) {
	signed, err := webhook.Sign([]string{vector.secret}, vector.message, vector.at)
	if err != nil {
		f.Fatal(err)
	}
	names := []string{webhook.HeaderSignature, webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderStandardSignature}
	good := make([]string, len(names))
	for i, name := range names {
		good[i] = signed.Get(name)
	}
	add := func(ours, id, at, standard string) { f.Add(ours, id, at, standard, vector.message.Body) }
	add(good[0], good[1], good[2], good[3])
	add("x,"+good[0]+",", good[1], good[2], "v1, "+good[3]+" v1a,x")
	add(strings.ToUpper(good[0]), good[1], good[2], good[3])
	add(good[0], good[1]+".", good[2], good[3])
	add(good[0], good[1], strconv.Itoa(math.MinInt64), good[3])
	add("", "", "", "")
	f.Fuzz(func(t *testing.T, ours, id, at, standard string, body []byte) {
		header := http.Header{}
		for i, value := range []string{ours, id, at, standard} {
			header.Set(names[i], value)
		}
		taken := webhook.Verify(vector.secret, header, body, vector.at) == nil
		message := db.Message{ID: id, Body: body}
		right, err := webhook.Sign([]string{vector.secret}, message, vector.at)
		if err != nil {
			t.Fatal(err)
		}
		// Another time within the tolerance would need a signature made with the secret.
		want := at == good[2] && holds(ours, ",", right.Get(names[0])) && holds(standard, " ", right.Get(names[3]))
		if taken != want {
			t.Errorf("accepted %v, want %v: headers %q, body %q", taken, want, header, body)
		}
	})
}

// holds reports whether a list contains a member.
func holds(list, separator, member string) bool {
	return strings.Contains(separator+list+separator, separator+member+separator)
}
