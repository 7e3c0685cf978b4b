package listener

import (
	"net"

	"golang.org/x/sys/unix"
)

// tcpClose is the state of a TCP socket without a connection (TCP_CLOSE).
const tcpClose = 7

// bytesAcknowledged returns how many bytes the other side has acknowledged.
func bytesAcknowledged(conn *net.TCPConn) (int64, bool) {
	info := tcpInfo(conn)
	if info == nil {
		return 0, false
	}
	return int64(info.Bytes_acked), true //nolint:gosec // no connection sends 2^63 bytes
}

// socketClosed reports whether the other side has reset the connection. A read
// does not report it after the end of what the other side sent.
func socketClosed(conn *net.TCPConn) bool {
	info := tcpInfo(conn)
	return info != nil && info.State == tcpClose
}

// tcpInfo returns what the system reports about a connection, or nil if it reports
// nothing.
func tcpInfo(conn *net.TCPConn) (info *unix.TCPInfo) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	err = raw.Control(func(fd uintptr) {
		info, _ = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) //nolint:gosec // a descriptor
	})
	if err != nil {
		return nil
	}
	return info
}

// maxUnsent bounds how many bytes the system buffers for a connection before it
// sends them. Bytes that were sent and not acknowledged do not count.
const maxUnsent = 128 << 10

// limitUnsent sets maxUnsent for all connections of a listener. Otherwise the
// system buffers megabytes for each.
func limitUnsent(listener net.Listener) {
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // a kernel without the option uses its default
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent) //nolint:gosec // a descriptor
	})
}
