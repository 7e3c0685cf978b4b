package webhook

import "time"

// Timeouts returns the limits of an attempt and of a TLS handshake.
func (s *Sender) Timeouts() (attempt, handshake time.Duration) {
	return s.timeout, s.transport.TLSHandshakeTimeout
}

// SetTimeouts shortens the limits, before the first attempt.
func (s *Sender) SetTimeouts(attempt, handshake time.Duration) {
	s.timeout, s.transport.TLSHandshakeTimeout = attempt, handshake
}
