package db

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// A cursor is a position in a list of an organisation: the order's value and
// the id of the last row given out. It is authenticated with a secret of the
// file, so that none is accepted but those that this list gave out, and stays
// valid as long as the file does.

// cursorTag is the length of a cursor's authentication in bytes.
const cursorTag = 16

// maxCursor bounds a cursor's text. The longest of ours hold a key of 200
// characters, of four bytes each.
const maxCursor = 2048

// ErrCursor refuses a cursor that the list did not issue.
var ErrCursor = &Error{
	Code: InvalidCursor, Param: "cursor",
	Message: "cursor was not issued by this list; use a next_cursor as it was returned, or leave it out to start over",
}

// Cursors is the service that encodes and checks the cursors of lists.
type Cursors struct{ db *DB }

// Encode makes a cursor.
func (c Cursors) Encode(list string, org Organisation, order, id string) string {
	position := order + "\x00" + id
	return base64.RawURLEncoding.EncodeToString(append(c.tag(list, org, position), position...))
}

// Decode reads a cursor back, or refuses it as one that seal did not make for
// this list and organisation.
func (c Cursors) Decode(list string, org Organisation, cursor string) (order, id string, err error) {
	invalid := ErrCursor
	if len(cursor) > maxCursor || strings.ContainsAny(cursor, "\r\n") { // the decoder would skip line breaks
		return "", "", invalid
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < cursorTag {
		return "", "", invalid
	}
	position := string(raw[cursorTag:])
	if !hmac.Equal(raw[:cursorTag], c.tag(list, org, position)) {
		return "", "", invalid
	}
	end := strings.LastIndexByte(position, 0) // ids have no such byte, keys that people choose may
	return position[:end], position[end+1:], nil
}

func (c Cursors) tag(list string, org Organisation, position string) []byte {
	mac := hmac.New(sha256.New, c.db.secrets.cursor)
	mac.Write([]byte(list + "\x00" + org.ID + "\x00" + position))
	return mac.Sum(nil)[:cursorTag]
}

func (a Audit) decodeCursor(org Organisation, cursor string) (int64, error) {
	order, _, err := a.db.Cursors.Decode(auditList, org, cursor)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(order, 10, 64)
}
