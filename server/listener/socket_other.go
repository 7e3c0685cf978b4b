//go:build !linux

package listener

import "net"

// bytesAcknowledged is not known on this system.
func bytesAcknowledged(*net.TCPConn) (int64, bool) { return 0, false }

// socketClosed is not known on this system before a write fails.
func socketClosed(*net.TCPConn) bool { return false }

// limitUnsent does nothing on this system.
func limitUnsent(net.Listener) {}
