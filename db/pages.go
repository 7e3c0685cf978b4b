package db

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"govsvc/db/sqlite"
)

// Separators of the positions of a page. They occur neither in JSON, which escapes
// control characters, nor in instants and ids.
const (
	rowEnd   = '\x1e'
	fieldEnd = '\x1f'
)

// joinedRows joins the rows of a query for position, id and resource into one: the
// objects, and for each its position, its id and its size in bytes. SQLite joins
// rows in the order of the query.
func joinedRows(query string) string {
	return "SELECT group_concat(resource, ','), group_concat(position || '\x1f' || id || '\x1f' || octet_length(resource), '\x1e') FROM (" + query + ")"
}

// PageBytes is the size of the records from which a page ends early
// (contract, section 2).
const PageBytes = 4 << 20

// ErrLargePage is returned instead of a page that is larger than PageSize.Small.
// The caller reserves memory and asks again.
var ErrLargePage = errors.New("the page is larger than the caller allows")

// PageSize bounds the size of a page in bytes. A page has at least one record,
// whatever its size.
type PageSize struct {
	Most  int // a page ends early when it reaches them; 0 is PageBytes
	Small int // a page that is larger is an ErrLargePage; 0 is no bound
}

func (s PageSize) most() int {
	if s.Most > 0 {
		return s.Most
	}
	return PageBytes
}

// readPage runs a query for position, id and resource, and returns the objects and
// their positions as joinedRows joins them; "" without rows. A page that would be
// too large has fewer rows: rows is the limit that was applied.
func readPage(ctx context.Context, d *DB, query string, args []any, limit int, size PageSize) (objects, positions string, rows int, err error) {
	longest := size.most()
	if size.Small > 0 {
		longest = min(longest, size.Small)
	}
	var row [2]any // an aggregate returns one row, also of none
	joined, ok := d.engine.Frequent.RowWithin(ctx, longest, joinedRows(query), args...)
	if ok {
		err = joined.Scan(&row[0], &row[1])
	}
	switch {
	case ok:
		objects, _ = row[0].(string)
		positions, _ = row[1].(string)
		return objects, positions, limit, err
	case size.Small > 0:
		return "", "", 0, ErrLargePage
	}
	return readRows(ctx, d, query, args, limit, size.most())
}

// readRows is readPage row by row, for a page that is too large for SQLite to join.
// It reads one row beyond those that fit, which shows that there are more.
func readRows(ctx context.Context, d *DB, query string, args []any, limit, most int) (objects, positions string, rows int, err error) {
	var texts, places strings.Builder
	read := 0
	err = d.engine.Frequent.Each(ctx, func(row Scanner) error {
		var place, object string
		if err := row.Scan(&place, &object); err != nil {
			return err
		}
		if read > 0 {
			texts.WriteByte(',')
			places.WriteByte(rowEnd)
		}
		texts.WriteString(object)
		places.WriteString(place)
		if read++; read > 1 && read <= limit && texts.Len() > most {
			limit = read - 1
			return sqlite.ErrStop
		}
		return nil
	}, "SELECT position || '\x1f' || id || '\x1f' || octet_length(resource), resource FROM ("+query+")", args...)
	return texts.String(), places.String(), limit, StoreError(err)
}

// cutPage removes the row beyond the limit, if there is one, and returns the
// position of the last row that stays.
func cutPage(objects, positions string, limit int) (rows string, more bool, order, id string) {
	if strings.Count(positions, string(rowEnd)) < limit {
		return objects, false, "", ""
	}
	positions, beyond := cutLast(positions, rowEnd)
	_, size := cutLast(beyond, fieldEnd)
	bytes, _ := strconv.Atoi(size) // SQLite's own number
	_, last := cutLast(positions, rowEnd)
	last, _ = cutLast(last, fieldEnd)
	order, id, _ = strings.Cut(last, string(fieldEnd))
	return objects[:len(objects)-bytes-len(",")], true, order, id
}

// cutLast cuts a text around the last end. Without one, before is "".
func cutLast(text string, end byte) (before, after string) {
	at := strings.LastIndexByte(text, end)
	return text[:max(0, at)], text[at+1:]
}

// A cursor is a position in a list of an organisation: the order's value and the
// id of the last row of a page. It is authenticated with a secret of the file, so
// that a list accepts only the cursors that it issued. It is valid as long as the
// file exists.

// cursorTag is the length of a cursor's authentication in bytes.
const cursorTag = 16

// maxCursor bounds the text of a cursor. The longest ones contain a key of 200
// characters, of four bytes each.
const maxCursor = 2048

// ErrCursor refuses a cursor that the list did not issue.
var ErrCursor = &Error{
	Code: InvalidCursor, Param: "cursor",
	Message: "cursor was not issued by this list; use a next_cursor without changes, or leave it out to start over",
}

// Cursors is the service that encodes and checks the cursors of lists.
type Cursors struct{ db *DB }

// Encode encodes a position as a cursor.
func (c Cursors) Encode(list string, org Organisation, order, id string) string {
	position := order + "\x00" + id
	return base64.RawURLEncoding.EncodeToString(append(c.tag(list, org, position), position...))
}

// Decode returns the position of a cursor. It refuses a cursor that Encode did not
// make for this list and organisation.
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
	end := strings.LastIndexByte(position, 0) // ids have no such byte, keys that users choose may
	return position[:end], position[end+1:], nil
}

func (c Cursors) tag(list string, org Organisation, position string) []byte {
	mac := hmac.New(sha256.New, c.db.secrets.cursor)
	mac.Write([]byte(list + "\x00" + org.ID + "\x00" + position))
	return mac.Sum(nil)[:cursorTag]
}
