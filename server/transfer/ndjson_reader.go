package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// space is the white space of JSON.
const space = " \t\r\n"

// ndjsonReader reads NDJSON. It skips blank lines.
type ndjsonReader struct {
	in   *bufio.Reader // its buffer holds the longest line
	line int
}

func newNDJSONReader(in *bufio.Reader) recordReader { return &ndjsonReader{in: in} }

func (r *ndjsonReader) next() (int, []byte, error) {
	for {
		r.line++
		text, err := r.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return r.line, nil, r.skipLine()
		}
		if record := bytes.Trim(text, space); len(record) > maxRecord {
			return r.line, nil, tooLong
		} else if len(record) > 0 {
			// the next read returns the error again
			return r.line, record, nil
		}
		if err != nil {
			return r.line, nil, err
		}
	}
}

// skipLine skips the rest of a line that is too long.
func (r *ndjsonReader) skipLine() error {
	for {
		switch _, err := r.in.ReadSlice('\n'); {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil || errors.Is(err, io.EOF):
			return tooLong
		default:
			return err
		}
	}
}
