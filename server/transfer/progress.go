package transfer

import (
	"io"
	"time"
)

// Phase is a part of an import.
type Phase string

// The stages, in order.
const (
	PhaseCheck Phase = "check"
	PhaseWrite Phase = "write"
)

// Progress is the progress of a phase of an import.
type Progress struct {
	Phase   Phase
	Bytes   int64 // read so far
	Total   int64 // to read
	Records int
}

const (
	progressInterval = 100 * time.Millisecond
	progressStep     = 64 << 10 // maximum of bytes read at once
)

// meter reports progress at most once in an interval, and at the end of a phase.
type meter struct {
	call    func(Progress)
	last    time.Time
	phase   Phase
	bytes   int64
	total   int64
	records int
}

func (m *meter) start(phase Phase) { m.phase, m.bytes, m.records = phase, 0, 0 }

func (m *meter) advance(n int) {
	m.bytes += int64(n)
	if m.call == nil {
		return
	}
	if now := time.Now(); now.Sub(m.last) >= progressInterval {
		m.last = now
		m.report()
	}
}

func (m *meter) finish() {
	if m.call != nil {
		m.report()
	}
}

func (m *meter) report() {
	m.call(Progress{Phase: m.phase, Bytes: m.bytes, Total: max(m.total, m.bytes), Records: m.records})
}

// meteredReader is a reader that reports progress.
type meteredReader struct {
	in    io.Reader
	meter *meter
}

func (m *meteredReader) Read(p []byte) (int, error) {
	n, err := m.in.Read(p[:min(len(p), progressStep)])
	m.meter.advance(n)
	return n, err
}
