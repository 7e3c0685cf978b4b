package sqlite

import (
	"database/sql/driver"
	"fmt"
	"reflect"
)

// Scanner is one row of a result, or the error that came instead of it.
type Scanner interface {
	// Scan copies the columns into the variables pointed to. A value that the variable
	// can't represent exactly is an error. No value is rounded, truncated or replaced
	// by zero.
	Scan(into ...any) error
}

// RawBytes is a text or bytes that the next Scan into the variable overwrites.
type RawBytes []byte

// Values are the columns of a row.
type Values []driver.Value

type failedRow struct{ err error }

// Scan returns the error.
func (r failedRow) Scan(...any) error { return r.err }

// Scan implements Scanner.
func (v Values) Scan(into ...any) error {
	if len(into) != len(v) {
		return fmt.Errorf("a row has %d columns, want %d", len(v), len(into))
	}
	for i, value := range v {
		if !store(value, into[i]) {
			return fmt.Errorf("column %d, a %T, does not fit into %T", i+1, value, into[i])
		}
	}
	return nil
}

// store stores a value; false if it does not fit.
func store(value driver.Value, into any) bool {
	switch into := into.(type) {
	case *any:
		*into = value
		return true
	case *string:
		if text, ok := value.(string); ok {
			*into = text
			return true
		}
	case *[]byte:
		return storeBytes(value, into)
	case *RawBytes:
		switch value := value.(type) {
		case string:
			*into = append((*into)[:0], value...)
			return true
		case []byte:
			*into = value
			return true
		}
		*into = nil
		return value == nil
	}
	to := reflect.ValueOf(into)
	return to.Kind() == reflect.Pointer && storeKind(value, to.Elem())
}

func storeBytes(value driver.Value, into *[]byte) bool {
	switch value := value.(type) {
	case string:
		*into = []byte(value)
	case []byte:
		*into = value
	case nil:
		*into = nil
	default:
		return false
	}
	return true
}

// storeKind goes by the kind of the variable, whose type may be a named one or a
// pointer. A pointer is nil for NULL.
func storeKind(value driver.Value, to reflect.Value) bool {
	if to.Kind() == reflect.Pointer {
		if value == nil {
			to.SetZero()
			return true
		}
		to.Set(reflect.New(to.Type().Elem()))
		return store(value, to.Interface())
	}
	switch value := value.(type) {
	case string:
		if to.Kind() == reflect.String {
			to.SetString(value)
			return true
		}
	case []byte:
		if to.Kind() == reflect.String {
			to.SetString(string(value))
			return true
		}
	case int64:
		return storeWhole(value, to)
	case float64:
		if to.Kind() == reflect.Float64 {
			to.SetFloat(value)
			return true
		}
	}
	return false
}

func storeWhole(value int64, to reflect.Value) bool {
	switch {
	case to.CanInt() && !to.OverflowInt(value):
		to.SetInt(value)
	case to.Kind() == reflect.Bool && (value == 0 || value == 1):
		to.SetBool(value == 1)
	case to.Kind() == reflect.Float64 && int64(float64(value)) == value:
		to.SetFloat(float64(value)) // a REAL column returns 5.0 as 5.0, an expression may return 5
	default:
		return false
	}
	return true
}
