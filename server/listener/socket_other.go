//go:build !linux

package listener

import "net"

// bytesAcknowledged returns false, because this system does not report acknowledged
// bytes.
func bytesAcknowledged(*net.TCPConn) (int64, bool) { return 0, false }

// socketClosed returns false. On this system only a failed write reveals a closed socket.
func socketClosed(*net.TCPConn) bool { return false }

// limitUnsent does nothing on this system.
func limitUnsent(net.Listener) {}
