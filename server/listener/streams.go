package listener

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// streamWait is how long a stream of HTTP/2 may wait for its client before its
// connection may be displaced by a new one.
const streamWait = time.Second

// streams are the responses under way on a connection of HTTP/2. A client can
// delay one with its flow-control window. Then no write of the connection waits.
// So each stream is checked by itself.
type streams struct {
	used    atomic.Bool  // a request came by HTTP/2
	waiting atomic.Bool  // a stream has waited longer than streamWait
	running atomic.Int64 // handlers
	ended   atomic.Int64 // when the last handler returned

	mutex   sync.Mutex
	writing map[*streamWriter]time.Duration // when the write under way began
}

// stuck reports whether a stream waits for its client. The end of a response can
// wait too: it is sent after its handler has returned.
func (s *streams) stuck(now time.Duration) bool {
	if !s.used.Load() {
		return false
	}
	return s.waiting.Load() || s.running.Load() == 0 && now-time.Duration(s.ended.Load()) > streamWait
}

// checkProgress resets the streams whose clients have taken too little.
func (s *streams) checkProgress(now time.Duration) {
	if !s.used.Load() {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	waiting := false
	for w, began := range s.writing {
		waiting = waiting || now-began > streamWait
		if now-began >= progressTime {
			// A deadline that has passed resets the stream. The writer is still in
			// use: its handler needs the mutex to go on.
			_ = w.control.SetWriteDeadline(processStart)
			s.writing[w] = now
		}
	}
	s.waiting.Store(waiting)
}

// streamWriter writes the response of one stream in parts.
type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	streams *streams
	wrote   bool
}

// begin returns the writer of a response. The caller calls end when the handler
// has returned.
func (s *streams) begin(w http.ResponseWriter) *streamWriter {
	s.running.Add(1)
	s.used.Store(true)
	return &streamWriter{ResponseWriter: w, control: http.NewResponseController(w), streams: s}
}

// end limits the time in which the client may take the rest of the response.
func (w *streamWriter) end() {
	if w.wrote {
		_ = w.control.SetWriteDeadline(time.Now().Add(progressTime)) // an error means that the stream has ended
	}
	w.streams.ended.Store(int64(uptime()))
	w.streams.running.Add(-1)
}

// Write sends p in parts. The client must take each of them within progressTime.
func (w *streamWriter) Write(p []byte) (n int, err error) {
	w.wrote = true
	for first := true; first || len(p) > 0; first = false {
		sent, err := w.part(p[:min(len(p), progressBytes)])
		n += sent
		if err != nil {
			return n, err
		}
		p = p[sent:]
	}
	return n, nil
}

func (w *streamWriter) part(p []byte) (int, error) {
	w.note(uptime())
	defer w.note(0)
	return w.ResponseWriter.Write(p)
}

// note records when a write began, or that it has ended.
func (w *streamWriter) note(began time.Duration) {
	w.streams.mutex.Lock()
	defer w.streams.mutex.Unlock()
	if began == 0 {
		delete(w.streams.writing, w)
		return
	}
	if w.streams.writing == nil {
		w.streams.writing = map[*streamWriter]time.Duration{}
	}
	w.streams.writing[w] = began
}

// Unwrap lets http.ResponseController find the writer of package net/http.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
