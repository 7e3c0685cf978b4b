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

// request is what a connection sends next; it gets its own number and how many
// it has sent.
type request func(connection, n int) []byte

// get is the same request each time.
func get(path, key string) request {
	head := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: load\r\n", path)
	if key != "" {
		head = fmt.Appendf(head, "Authorization: Bearer %s\r\n", key)
	}
	head = append(head, "\r\n"...)
	return func(int, int) []byte { return head }
}

// result of a spell of load.
type result struct {
	rate     float64 // answers a second
	p50, p99 time.Duration
}

// load keeps that many connections busy, each with one request at a time, and
// fails on any answer but a 2xx. The client is a few lines over a socket, so
// that little of the machine goes into it.
func load(ctx context.Context, address string, connections int, spell time.Duration, next request) (result, error) {
	return loadFor(ctx, address, connections, spell, "HTTP/1.1 2", next)
}

// loadFor is load where answers are to start otherwise.
func loadFor(ctx context.Context, address string, connections int, spell time.Duration, want string, next request) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, spell)
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
		return result{}, fmt.Errorf("%d answers, then: %w", len(times), failed)
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
		if err := readAnswer(in, want); err != nil {
			return times, err
		}
		times = append(times, time.Since(begun))
	}
	return times, nil
}

// readAnswer reads one answer: a head and a body of a told length, in one piece
// or in chunks.
func readAnswer(in *bufio.Reader, want string) error {
	status, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte(want)) {
		rest, _ := in.Peek(in.Buffered())
		return fmt.Errorf("answered %s%s", status, rest)
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

// fetch sends one request and returns the body of its answer.
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
		return nil, fmt.Errorf("answered %s", head)
	}
	return body, nil
}
