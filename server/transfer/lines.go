package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// space is JSON's white space.
const space = " \t\r\n"

// lines reads NDJSON. Blank lines are passed over.
type lines struct {
	in   *bufio.Reader // with room for a whole line
	line int
}

func readLines(in *bufio.Reader) reader { return &lines{in: in} }

func (l *lines) next() (int, []byte, error) {
	for {
		l.line++
		text, err := l.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return l.line, nil, l.passOver()
		}
		if record := bytes.Trim(text, space); len(record) > maxRecord {
			return l.line, nil, tooLong
		} else if len(record) > 0 {
			// an error comes again with the next line
			return l.line, record, nil
		}
		if err != nil {
			return l.line, nil, err
		}
	}
}

// passOver reads to the end of a line that is too long.
func (l *lines) passOver() error {
	for {
		switch _, err := l.in.ReadSlice('\n'); {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil || errors.Is(err, io.EOF):
			return tooLong
		default:
			return err
		}
	}
}
