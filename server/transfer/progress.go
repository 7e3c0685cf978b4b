package transfer

import (
	"io"
	"time"
)

// Stage is a part of an import.
type Stage string

// The stages, in order.
const (
	StageCheck Stage = "check"
	StageWrite Stage = "write"
)

// Progress is how far a stage of an import is.
type Progress struct {
	Stage   Stage
	Bytes   int64 // read so far, of
	Total   int64
	Records int
}

const (
	progressInterval = 100 * time.Millisecond
	progressStep     = 64 << 10 // bytes read at once, so that it moves steadily
)

// meter reports progress, at most once an interval and at the end of a stage.
type meter struct {
	call    func(Progress)
	last    time.Time
	stage   Stage
	bytes   int64
	total   int64
	records int
}

func (m *meter) start(stage Stage) { m.stage, m.bytes, m.records = stage, 0, 0 }

func (m *meter) advance(n int) {
	m.bytes += int64(n)
	if m.call == nil {
		return
	}
	if now := time.Now(); now.Sub(m.last) >= progressInterval {
		m.last = now
		m.tell()
	}
}

func (m *meter) finish() {
	if m.call != nil {
		m.tell()
	}
}

func (m *meter) tell() {
	m.call(Progress{Stage: m.stage, Bytes: m.bytes, Total: max(m.total, m.bytes), Records: m.records})
}

// metered is a source whose reading moves the meter.
type metered struct {
	in    io.Reader
	meter *meter
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.in.Read(p[:min(len(p), progressStep)])
	m.meter.advance(n)
	return n, err
}
