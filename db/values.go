package db

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// idSource returns a function that makes UUIDv7 (RFC 9562): 48 bits of milliseconds, a
// counter that orders the ids of one process within a millisecond (section 6.2, method 1),
// and random bits. With ordered ids, new entries of an index go to the same page.
func idSource(now func() time.Time) func() string {
	var (
		mutex   sync.Mutex
		last    int64
		counter uint32
	)
	return func() string {
		var b [16]byte
		rand.Read(b[:]) //nolint:errcheck // never fails; see its documentation
		mutex.Lock()
		ms := now().UnixMilli()
		if ms > last {
			last, counter = ms, uint32(binary.BigEndian.Uint16(b[6:]))&0x7ff
		} else if counter++; counter >= 1<<18 {
			last, counter = last+1, 0
		}
		ms, count := last, counter
		mutex.Unlock()

		binary.BigEndian.PutUint64(b[:], uint64(max(0, ms))<<16)
		b[6] = 0x70 | byte(count>>14&0x0f)
		b[7] = byte(count >> 6 & 0xff)
		b[8] = 0x80 | byte(count&0x3f)
		return formatUUID(b)
	}
}

// NewID makes an id for a value that is not stored in a file.
func NewID() string { return idSource(time.Now)() }

func formatUUID(b [16]byte) string {
	var s [36]byte
	hex.Encode(s[:8], b[:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// timestamp is the layout of instants in the file and the API: RFC 3339 in UTC with
// milliseconds. The texts have the order of the instants.
const timestamp = "2006-01-02T15:04:05.000Z"

// Timestamp formats an instant for the file and the API.
func Timestamp(t time.Time) string { return t.UTC().Format(timestamp) }

// ParseTimestamp parses the result of Timestamp.
func ParseTimestamp(s string) (time.Time, error) { return time.Parse(timestamp, s) }

// columnValue returns what a column stores for a member's value.
func (r *storedResource) columnValue(column string, value any) (any, error) {
	switch value := value.(type) {
	case string:
		if slices.Contains(r.Instants, column) {
			at, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return nil, &Error{Code: Invalid, Param: column, Message: column + " must be an RFC 3339 timestamp"}
			}
			return Timestamp(at), nil
		}
		return value, nil
	case bool:
		if value {
			return 1, nil
		}
		return 0, nil
	case json.Number:
		return columnNumber(column, value)
	case map[string]any, []any:
		return compact(value), nil
	}
	return value, nil
}

// memberValue returns the member's value that a column stores.
func (r *storedResource) memberValue(column string, value any) any {
	switch value := value.(type) {
	case string:
		if slices.Contains(r.JSON, column) {
			return json.RawMessage(value)
		}
	case int:
		if slices.Contains(r.Booleans, column) {
			return value != 0
		}
	case int64:
		if slices.Contains(r.Booleans, column) {
			return value != 0
		}
	}
	return value
}

// columnNumber stores whole numbers as integers, so that 100 is not returned as 100.0.
func columnNumber(column string, n json.Number) (any, error) {
	if whole, err := n.Int64(); err == nil {
		return whole, nil
	}
	float, err := n.Float64()
	if err != nil {
		return nil, &Error{Code: Invalid, Param: column, Message: column + " is outside the range of numbers"}
	}
	if whole := int64(float); float > -1<<53 && float < 1<<53 && float64(whole) == float {
		return whole, nil
	}
	return float, nil
}

// compact encodes a value that was decoded from JSON or that the store created.
func compact(v any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// sameValue compares a value with the one that a column stores, as SQLite's IS does.
func sameValue(given any, stored driver.Value) bool {
	switch given := given.(type) {
	case nil:
		return stored == nil
	case string:
		text, ok := stored.(string)
		return ok && text == given
	case int:
		return sameInteger(int64(given), stored)
	case int64:
		return sameInteger(given, stored)
	case float64:
		switch stored := stored.(type) {
		case float64:
			return given == stored
		case int64:
			return sameInteger(stored, given)
		}
	}
	return false
}

func sameInteger(given int64, stored driver.Value) bool {
	switch stored := stored.(type) {
	case int64:
		return given == stored
	case float64:
		const limit = 1 << 63 // int64 has no values beyond it
		return stored >= -limit && stored < limit && float64(int64(stored)) == stored && int64(stored) == given
	}
	return false
}

// tableColumns reads the columns of each table, without the generated ones. For tables of
// resources it also reads the default values of members that a record may leave out.
func tableColumns(ctx context.Context, d *DB) (columns map[string][]string, defaults map[string]map[string]any, err error) {
	columns, defaults = map[string][]string{}, map[string]map[string]any{}
	resources := map[string]*storedResource{} // by table
	for _, r := range storedResources {
		resources[r.Table], defaults[r.Table] = r, map[string]any{}
	}
	err = d.Each(ctx, func(row Scanner) error {
		var table, column, value string
		err := row.Scan(&table, &column, &value)
		columns[table] = append(columns[table], column)
		if r := resources[table]; r != nil && value != "" && settable(column) && !slices.Contains(r.Internal, column) {
			defaults[table][column] = r.defaultValue(column, value)
		}
		return err
	}, `SELECT m.name, c.name, coalesce(c.dflt_value, '') FROM sqlite_schema m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' ORDER BY m.name, c.cid`)
	return columns, defaults, err
}

// defaultValue returns a default of the schema, a text in quotes or a whole
// number, as the member's value.
func (r *storedResource) defaultValue(column, literal string) any {
	if whole, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return r.memberValue(column, whole)
	}
	return r.memberValue(column, strings.Trim(literal, "'"))
}
