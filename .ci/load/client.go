//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// request returns the next message. Its argument is the number of messages before it.
type request func(n int) []byte

// always returns the same message each time.
func always(message []byte) request { return func(int) []byte { return message } }

// get returns a GET.
func get(path, key string) []byte {
	head := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: load\r\n", path)
	if key != "" {
		head = fmt.Appendf(head, "Authorization: Bearer %s\r\n", key)
	}
	return append(head, "\r\n"...)
}

// traffic is what a client sends.
type traffic struct {
	address     string
	connections int
	next        request
	perSecond   int    // of all connections together; 0 for as many as possible
	want        string // the beginning of each response; a 2xx if it is empty
}

// result has the measurements of one period.
type result struct {
	responses int
	rate      float64 // responses a second
	p50, p99  time.Duration
	client    time.Duration // processor time of the client
	server    time.Duration // processor time of the server, if it was measured
}

// send keeps the connections busy for a period, each with one request at a time. One
// thread waits for all sockets together, so that the client uses little of the processor,
// which it shares with the server.
func (t traffic) send(ctx context.Context, period time.Duration) (result, error) {
	runtime.LockOSThread() // for the processor time of the thread
	defer runtime.UnlockOSThread()
	if t.want == "" {
		t.want = "HTTP/1.1 2"
	}
	c := &client{traffic: t, sockets: map[int32]*socket{}}
	defer c.close()
	if err := c.connect(); err != nil {
		return result{}, err
	}
	before, begun := threadTime(), time.Now()
	if err := c.run(ctx, begun, period); err != nil {
		return result{}, fmt.Errorf("%d responses, then: %w", len(c.times), err)
	}
	took := time.Since(begun)
	if len(c.times) == 0 {
		return result{}, errors.New("no response")
	}
	slices.Sort(c.times)
	return result{
		responses: len(c.times), rate: float64(len(c.times)) / took.Seconds(),
		p50: c.times[len(c.times)/2], p99: c.times[len(c.times)*99/100], client: threadTime() - before,
	}, nil
}

// client is the state of one call of send.
type client struct {
	traffic
	poll    int // of epoll
	sockets map[int32]*socket
	idle    []*socket
	sent    int
	times   []time.Duration
}

// socket is a connection.
type socket struct {
	number int
	begun  time.Time // of the request
	in     []byte    // what has been read of the response
	total  int       // length of the response; 0 until its head has been read
}

func (c *client) connect() error {
	address, err := netip.ParseAddrPort(c.address)
	if err != nil {
		return err
	}
	if c.poll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return err
	}
	for range c.connections {
		number, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		s := &socket{number: number, in: make([]byte, 0, 64<<10)}
		c.sockets[int32(number)] = s
		c.idle = append(c.idle, s)
		if err := syscall.Connect(number, &syscall.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}); err != nil {
			return err
		}
		if err := syscall.SetsockoptInt(number, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err != nil {
			return err
		}
		if err := syscall.SetNonblock(number, true); err != nil {
			return err
		}
		event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(number)}
		if err := syscall.EpollCtl(c.poll, syscall.EPOLL_CTL_ADD, number, &event); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) close() {
	for _, s := range c.sockets {
		_ = syscall.Close(s.number)
	}
	_ = syscall.Close(c.poll)
}

// run sends requests until the end of the period, and waits for their responses.
func (c *client) run(ctx context.Context, begun time.Time, period time.Duration) error {
	var events [256]syscall.EpollEvent
	for {
		wait, err := c.begin(ctx, begun, period)
		if err != nil {
			return err
		}
		now := time.Now()
		if now.Sub(begun) >= period && len(c.idle) == len(c.sockets) {
			return nil
		}
		if now.Sub(begun) > period+time.Minute {
			return errors.New("no response within a minute")
		}
		n, err := syscall.EpollWait(c.poll, events[:], int(wait.Milliseconds()))
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return err
		}
		for i := range max(n, 0) {
			if err := c.read(c.sockets[events[i].Fd]); err != nil {
				return err
			}
			if _, err := c.begin(ctx, begun, period); err != nil {
				return err
			}
		}
	}
}

// begin sends the requests that are due on the idle connections. It returns how long to
// wait for the next one.
func (c *client) begin(ctx context.Context, begun time.Time, period time.Duration) (time.Duration, error) {
	const longest = 100 * time.Millisecond
	for len(c.idle) > 0 {
		after := time.Since(begun)
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if after >= period {
			break
		}
		if early := c.due() - after; early > 0 {
			return min(longest, early+time.Millisecond), nil
		}
		if err := c.write(); err != nil {
			return 0, err
		}
	}
	return longest, nil
}

// due returns when the next request is due, from the beginning of the period.
func (c *client) due() time.Duration {
	if c.perSecond == 0 {
		return 0
	}
	return time.Duration(c.sent) * time.Second / time.Duration(c.perSecond)
}

// write sends the next request on an idle connection.
func (c *client) write() error {
	s := c.idle[len(c.idle)-1]
	c.idle = c.idle[:len(c.idle)-1]
	message := c.next(c.sent)
	c.sent++
	s.begun, s.in, s.total = time.Now(), s.in[:0], 0
	for len(message) > 0 {
		n, err := syscall.Write(s.number, message)
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
			runtime.Gosched() // a large body: the server reads it soon
			continue
		}
		if err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// read reads what has arrived of a response.
func (c *client) read(s *socket) error {
	s.in = slices.Grow(s.in, 16<<10)
	n, err := syscall.Read(s.number, s.in[len(s.in):cap(s.in)])
	switch {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR):
		return nil
	case err != nil:
		return err
	case n == 0:
		return fmt.Errorf("the server closed the connection after %q", s.in)
	}
	s.in = s.in[:len(s.in)+n]
	if s.total == 0 {
		if s.total, err = responseLength(s.in, c.want); err != nil {
			return err
		}
	}
	if s.total == 0 || len(s.in) < s.total {
		return nil
	}
	if len(s.in) > s.total {
		return fmt.Errorf("%d bytes after a response", len(s.in)-s.total)
	}
	c.times = append(c.times, time.Since(s.begun))
	c.idle = append(c.idle, s)
	return nil
}

// responseLength returns the length of a response with its head, or 0 if too little of it
// has arrived. A body has a Content-Length or comes in chunks.
func responseLength(in []byte, want string) (int, error) {
	if len(in) >= len(want) && string(in[:len(want)]) != want {
		return 0, fmt.Errorf("got %s", in)
	}
	head := bytes.Index(in, []byte("\r\n\r\n")) + 4
	if head < 4 {
		return 0, nil
	}
	if _, after, ok := bytes.Cut(in[:head], []byte("\r\nContent-Length: ")); ok {
		digits, _, _ := bytes.Cut(after, []byte("\r\n"))
		length, err := strconv.Atoi(string(digits))
		return head + length, err
	}
	if !bytes.Contains(in[:head], []byte("\r\nTransfer-Encoding: chunked")) {
		return head, nil
	}
	for at := head; ; {
		line := bytes.Index(in[at:], []byte("\r\n"))
		if line < 0 {
			return 0, nil
		}
		size, err := strconv.ParseUint(string(in[at:at+line]), 16, 31)
		if err != nil {
			return 0, err
		}
		if at += line + 2 + int(size) + 2; at > len(in) {
			return 0, nil
		}
		if size == 0 {
			return at, nil
		}
	}
}

// threadTime returns the processor time of the calling thread.
func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if syscall.Getrusage(thread, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// fetch sends one request and returns the body of the response.
func fetch(ctx context.Context, address string, message []byte) ([]byte, error) {
	c := &client{traffic: traffic{address: address, connections: 1, next: always(message), want: "HTTP/1.1 2"}, sockets: map[int32]*socket{}}
	defer c.close()
	if err := c.connect(); err != nil {
		return nil, err
	}
	s := c.idle[0]
	if err := c.write(); err != nil {
		return nil, err
	}
	if err := c.run(ctx, time.Now(), 0); err != nil {
		return nil, err
	}
	_, body, _ := bytes.Cut(s.in, []byte("\r\n\r\n"))
	return body, nil
}
