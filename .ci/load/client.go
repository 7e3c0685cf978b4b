package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// request returns the next message of a connection. Its arguments are the number of
// the connection and the number of messages that it has sent.
type request func(connection, n int) []byte

// get returns the same GET each time.
func get(path, key string) request {
	head := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: load\r\n", path)
	if key != "" {
		head = fmt.Appendf(head, "Authorization: Bearer %s\r\n", key)
	}
	head = append(head, "\r\n"...)
	return func(int, int) []byte { return head }
}

// result has the measurements of one period.
type result struct {
	rate     float64 // responses a second
	p50, p99 time.Duration
}

// load keeps a number of connections busy, each with one request at a time. Any
// response other than a 2xx is an error. The client works directly on a socket, so
// that it uses little of the processor.
func load(ctx context.Context, address string, connections int, period time.Duration, next request) (result, error) {
	return loadFor(ctx, address, connections, period, "HTTP/1.1 2", next)
}

// loadFor runs load, with another expected beginning of the responses.
func loadFor(ctx context.Context, address string, connections int, period time.Duration, want string, next request) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, period)
	defer cancel()
	var (
		group  sync.WaitGroup
		mutex  sync.Mutex
		times  []time.Duration
		failed error
	)
	begun := time.Now()
	for c := range connections {
		group.Go(func() {
			own, err := drive(ctx, address, c, want, next)
			mutex.Lock()
			defer mutex.Unlock()
			times = append(times, own...)
			if err != nil {
				failed = err
			}
		})
	}
	group.Wait()
	took := time.Since(begun)
	if failed != nil || len(times) == 0 {
		return result{}, fmt.Errorf("%d responses, then: %w", len(times), failed)
	}
	slices.Sort(times)
	return result{float64(len(times)) / took.Seconds(), times[len(times)/2], times[len(times)*99/100]}, nil
}

func drive(ctx context.Context, address string, connection int, want string, next request) ([]time.Duration, error) {
	socket, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	var times []time.Duration
	in := bufio.NewReaderSize(socket, 64<<10)
	for n := 0; ctx.Err() == nil; n++ {
		message := next(connection, n)
		begun := time.Now()
		if _, err := socket.Write(message); err != nil {
			return times, err
		}
		if err := readResponse(in, want); err != nil {
			return times, err
		}
		times = append(times, time.Since(begun))
	}
	return times, nil
}

// readResponse reads one response: a head, and a body with a Content-Length or in
// chunks.
func readResponse(in *bufio.Reader, want string) error {
	status, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte(want)) {
		rest, _ := in.Peek(in.Buffered())
		return fmt.Errorf("got %s%s", status, rest)
	}
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
		if bytes.Equal(line, []byte("Transfer-Encoding: chunked")) {
			length = -1
		}
	}
	if length >= 0 {
		_, err = in.Discard(length)
		return err
	}
	return discardChunks(in)
}

func discardChunks(in *bufio.Reader) error {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if _, err := in.Discard(int(size) + 2); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}

// fetch sends one request and returns the body of the response.
func fetch(ctx context.Context, address string, wanted []byte) ([]byte, error) {
	socket, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	if _, err := socket.Write(bytes.Replace(wanted, []byte("\r\n\r\n"), []byte("\r\nConnection: close\r\n\r\n"), 1)); err != nil {
		return nil, err
	}
	all, err := io.ReadAll(socket)
	if err != nil {
		return nil, err
	}
	head, body, _ := bytes.Cut(all, []byte("\r\n\r\n"))
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 2")) {
		return nil, fmt.Errorf("got %s", head)
	}
	return body, nil
}
