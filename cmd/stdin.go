package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// secret is a kind of secret that is read from standard input.
type secret struct {
	name  string
	limit int    // bytes; the store has further limits
	hint  string // how to provide it
}

var (
	keySecret      = secret{"key", 512, "redirect it, as in `govsvc keys import ... < key.txt`"}
	passwordSecret = secret{"password", 4096, "pipe one line into the command, or run it at a terminal"}
)

// promptPassword reads a line from the terminal without showing it. If ctx ends first,
// it restores the terminal.
func promptPassword(ctx context.Context, a *app, terminal *os.File, prompt string) (string, error) {
	descriptor := int(terminal.Fd()) //nolint:gosec // it fits an int
	before, err := term.GetState(descriptor)
	if err != nil {
		return "", fmt.Errorf("the terminal: %w", err)
	}
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	fmt.Fprint(a.stderr, prompt)
	go func() {
		line, err := term.ReadPassword(descriptor)
		answers <- answer{line, err}
	}()
	select {
	case got := <-answers:
		fmt.Fprintln(a.stderr)
		if got.err != nil {
			got.err = fmt.Errorf("the terminal: %w", got.err)
		}
		return string(got.line), got.err
	case <-ctx.Done():
		_ = term.Restore(descriptor, before) // the terminal may be closed
		fmt.Fprintln(a.stderr)
		return "", ctx.Err()
	}
}

// read reads a secret that is the only line of its input.
func (s secret) read(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(s.limit)+3)) // \r\n, and one byte too many
	if err != nil {
		return "", err
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	switch {
	case len(text) == 0:
		return "", fmt.Errorf("no %s on standard input; %s", s.name, s.hint)
	case len(text) > s.limit:
		return "", fmt.Errorf("the %s on standard input has more than %d bytes; provide one %s alone", s.name, s.limit, s.name)
	case bytes.ContainsAny(text, "\r\n"):
		return "", fmt.Errorf("standard input has more than one line; provide one %s alone", s.name)
	}
	return string(text), nil
}

// interruptibleReader returns an input that ends with ctx. A read from a terminal
// itself can't be canceled.
func interruptibleReader(ctx context.Context, from io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	return r
}
