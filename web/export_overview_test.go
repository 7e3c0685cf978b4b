package web

// TimeLeft is what a running clock says.
var TimeLeft = timeLeft

// HoldVerification is as if a check of the audit log were under way until it is
// released.
func (s *Site) HoldVerification() (release func()) {
	s.verifying.Lock()
	return s.verifying.Unlock
}
