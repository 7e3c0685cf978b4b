package web

// HoldVerification is as if a check of the audit log were under way until it is
// released.
func (s *Site) HoldVerification() (release func()) {
	s.verifying.Lock()
	return s.verifying.Unlock
}
