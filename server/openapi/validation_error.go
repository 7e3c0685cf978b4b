package openapi

// ValidationError is one thing wrong with an input. Its message is for the caller: it
// names the member, says what is allowed, and never repeats the value.
type ValidationError struct {
	Param   string // e.g. "checkins[3].value"; "" for the whole
	Message string
}

// Error returns the message.
func (f *ValidationError) Error() string { return f.Message }
