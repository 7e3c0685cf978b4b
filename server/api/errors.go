package api

import (
	"context"
	"errors"

	"govsvc/db"
	"govsvc/server/openapi"
)

// Code is an error's stable name, which clients branch on.
type Code string

// The codes (specification, Errors; contract, section 2).
const (
	MissingCredential    Code = "missing_credential"
	InvalidAPIKey        Code = "invalid_api_key"
	TierRequired         Code = "tier_required"
	SubscriptionInactive Code = "subscription_inactive"
	InsufficientScope    Code = "insufficient_scope"
	OriginNotAllowed     Code = "origin_not_allowed"
	InvalidParameter     Code = "invalid_parameter"
	InvalidCursor        Code = "invalid_cursor"
	UnsupportedVersion   Code = "unsupported_version"
	RateLimitExceeded    Code = "rate_limit_exceeded"
	NotFound             Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	PayloadTooLarge      Code = "payload_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	IdempotencyKeyReused Code = "idempotency_key_reused"
	IdempotencyInFlight  Code = "idempotency_in_flight"
	ResourceConflict     Code = "resource_conflict"
	InternalError        Code = "internal_error"
	ServiceUnavailable   Code = "service_unavailable"
)

// Error is a refusal or failure as the caller sees it.
type Error struct {
	Code    Code
	Param   string // the parameter or member at fault, if one is
	Message string // what was wrong and what to do; never an internal detail
	Err     error  // the cause, for the log
}

func (e *Error) Error() string {
	if e.Err != nil {
		return string(e.Code) + ": " + e.Err.Error()
	}
	return string(e.Code) + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var codeOf = map[db.Code]Code{
	db.NotFound:      NotFound,
	db.Conflict:      ResourceConflict,
	db.KeyReused:     IdempotencyKeyReused,
	db.InFlight:      IdempotencyInFlight,
	db.Invalid:       InvalidParameter,
	db.InvalidCursor: InvalidCursor,
	db.Unavailable:   ServiceUnavailable,
	// The operations of the API return only Busy of these. The others are errors of a
	// sign-in or a search in the dashboard.
	db.Unauthenticated: MissingCredential,
	db.CodeNeeded:      MissingCredential,
	db.Throttled:       RateLimitExceeded,
	db.Busy:            ServiceUnavailable,
	db.SearchTimeout:   ServiceUnavailable,
	db.SearchBusy:      RateLimitExceeded,
}

// Refusal returns the error that a caller may see. An unknown error becomes an
// internal_error, and its cause is only logged.
func Refusal(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	var validation *openapi.ValidationError
	if errors.As(err, &validation) {
		return &Error{Code: InvalidParameter, Param: validation.Param, Message: validation.Message}
	}
	var stored *db.Error
	if errors.As(err, &stored) && codeOf[stored.Code] != "" {
		refusal := &Error{Code: codeOf[stored.Code], Param: stored.Param, Message: stored.Message, Err: stored.Err}
		if stored.Code == db.Busy { // so that callers can distinguish it from an unusable file
			refusal.Err = stored
		}
		return refusal
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Code: ServiceUnavailable, Message: "the request was not finished in time; try again", Err: err}
	}
	return &Error{Code: InternalError, Message: "something went wrong on our side; quote the request id when you report it", Err: err}
}
