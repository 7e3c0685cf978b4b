//go:build !linux

package cmd

import "net"

// bytesAcknowledged is not known on this system.
func bytesAcknowledged(*net.TCPConn) (int64, bool) { return 0, false }

// socketClosed is not known on this system before a write fails.
func socketClosed(*net.TCPConn) bool { return false }

// boundUnsent does nothing on this system.
func boundUnsent(net.Listener) {}
