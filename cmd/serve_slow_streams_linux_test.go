package cmd_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawStreams is a connection of HTTP/2 whose frames the test writes.
type rawStreams struct {
	conn   net.Conn
	framer *http2.Framer
	block  bytes.Buffer
	header *hpack.Encoder
	next   uint32
}

// newRawStreams connects from an address and never opens a window. A response
// may send window bytes of each stream, and no more.
func newRawStreams(c *cli, url, from string, window uint32) *rawStreams {
	c.t.Helper()
	under := dialFrom(c.t.Context(), url, from)
	if under == nil {
		return nil
	}
	//nolint:gosec // the certificate is not the subject of the test
	conn := tls.Client(under, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	c.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return nil
	}
	r := &rawStreams{conn: conn, framer: http2.NewFramer(conn, conn), next: 1}
	r.header = hpack.NewEncoder(&r.block)
	if r.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}) != nil {
		return nil
	}
	return r
}

// get begins a request on a new stream.
func (r *rawStreams) get(path string, fields ...string) (stream uint32, err error) {
	r.block.Reset()
	fields = append([]string{":method", "GET", ":scheme", "https", ":authority", "x", ":path", path}, fields...)
	for i := 0; i < len(fields); i += 2 {
		_ = r.header.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // a buffer accepts every write
	}
	stream = r.next
	r.next += 2
	return stream, r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: r.block.Bytes(), EndStream: true, EndHeaders: true})
}

// ended reads frames until each of the streams was reset or the connection
// ended. It returns how many were reset.
func (r *rawStreams) ended(streams int) (reset int, err error) {
	for reset < streams {
		frame, err := r.framer.ReadFrame()
		if err != nil {
			return reset, err
		}
		switch frame := frame.(type) {
		case *http2.RSTStreamFrame:
			reset++
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = r.framer.WriteSettingsAck()
			}
		}
	}
	return reset, nil
}

// TestServe_EndsResponsesWithoutProgress checks that a response that its client does not
// read ends long before the minute that a response may take.
func TestServe_EndsResponsesWithoutProgress(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	plain := c.serve()
	secure, client := serveTLS(c)
	path := largestStaticFile(c, client, secure.url)
	began := time.Now()

	conn := dialFrom(t.Context(), plain.url, "127.0.0.2")
	defer conn.Close() //nolint:errcheck // closed by the server
	_, _ = io.WriteString(conn, strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n", 4))
	streams := newRawStreams(c, secure.url, "127.0.0.2", 10)
	for range 8 {
		if _, err := streams.get(path); err != nil {
			t.Fatal(err)
		}
	}
	if reset, err := streams.ended(8); reset != 8 {
		t.Errorf("%d of 8 streams were reset: %v", reset, err)
	}
	for err := error(nil); err == nil && time.Since(began) < time.Minute; _, err = io.WriteString(conn, "\r") {
		time.Sleep(50 * time.Millisecond)
	}
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("it took %v, want less than the minute of a whole response", took)
	}
	plain.end()
	secure.end()
}

// TestServe_CompletesSlowDownload checks that a client that reads a large response
// slowly but steadily gets all of it.
func TestServe_CompletesSlowDownload(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve()
	path := largestStaticFile(c, http.DefaultClient, s.url)
	conn := dialFrom(t.Context(), s.url, "127.0.0.2")
	defer conn.Close() //nolint:errcheck // read to its end
	_ = conn.(*net.TCPConn).SetReadBuffer(32 << 10)
	_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.0\r\n\r\n")
	got, buffer := 0, make([]byte, 32<<10)
	for pause := 250 * time.Millisecond; ; {
		n, err := conn.Read(buffer)
		if got += n; err != nil {
			break
		}
		if got < 1<<20 {
			time.Sleep(pause)
		}
	}
	want := len(c.ask(&http.Client{}, s.url+path, "").body)
	if got < want {
		t.Errorf("got %d bytes, want a head and %d", got, want)
	}
	s.end()
}

// TestServe_DisplacesSlowStreams checks that new connections displace connections of
// HTTP/2 whose streams wait for a window.
func TestServe_DisplacesSlowStreams(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	const most = 20
	s, client := serveTLS(c, "--max-connections", strconv.Itoa(most))
	for _, path := range []string{largestStaticFile(c, client, s.url), "/healthz"} { // a large response, and the end of a small one
		var attackers []*rawStreams
		for i := range most {
			streams := newRawStreams(c, s.url, "127.0.0."+strconv.Itoa(2+i%5), 0)
			if streams == nil {
				t.Fatal("no connection")
			}
			attackers = append(attackers, streams)
			for range 10 {
				_, _ = streams.get(path) // the connection may have been displaced
			}
		}
		time.Sleep(3 * time.Second) // until the server has noticed that they wait
		client.Timeout = 5 * time.Second
		got := 0
		for range 10 {
			if response, err := client.Get(s.url + "/healthz"); err == nil { //nolint:noctx // has a timeout
				_ = response.Body.Close()
				got++
			}
		}
		if got < 9 {
			t.Errorf("%s: %d of 10 requests were answered", path, got)
		}
		for _, streams := range attackers {
			_ = streams.conn.Close()
		}
	}
	s.end()
}

// TestServe_AnswersDespiteRapidResets checks that a connection that opens and resets
// streams as fast as possible does not keep others from being answered.
func TestServe_AnswersDespiteRapidResets(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s, client := serveTLS(c)
	attacker := newRawStreams(c, s.url, "127.0.0.2", 0)
	ended := make(chan int)
	stop := make(chan struct{})
	go func() {
		sent := 0
		go func() { _, _ = io.Copy(io.Discard, attacker.conn) }()
		for {
			stream, err := attacker.get("/docs")
			if err == nil {
				err = attacker.framer.WriteRSTStream(stream, http2.ErrCodeCancel)
			}
			select {
			case <-stop:
				ended <- sent
				return
			default:
			}
			if err != nil {
				<-stop
				ended <- sent
				return
			}
			sent++
		}
	}()
	client.Timeout = 20 * time.Second
	for i := range 20 {
		response, err := client.Get(s.url + "/healthz") //nolint:noctx // has a timeout
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		_ = response.Body.Close()
	}
	close(stop)
	if sent := <-ended; sent < 100 {
		t.Errorf("only %d streams were reset", sent)
	}
	s.end()
}
