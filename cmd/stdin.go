package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// maxPasswordLine bounds in bytes the line that a password is read from; the store
// bounds the password.
const maxPasswordLine = 4096

// promptPassword reads a line from the terminal without showing it. If ctx ends first,
// the terminal shows again what is typed.
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
		_ = term.Restore(descriptor, before) // a terminal that is gone needs it no more
		fmt.Fprintln(a.stderr)
		return "", ctx.Err()
	}
}

// readPassword reads a password that is alone in its input, less the end of
// its line.
func readPassword(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPasswordLine+3)) // and \r\n, and one too many
	if err != nil {
		return "", err
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	switch {
	case len(text) == 0:
		return "", errors.New("no password on standard input; pipe one line into the command, or run it at a terminal")
	case len(text) > maxPasswordLine:
		return "", errors.New("the line on standard input is too long for a password")
	case bytes.ContainsAny(text, "\r\n"):
		return "", errors.New("standard input has more than one line; give the password alone")
	}
	return string(text), nil
}

// readKey reads a key that is alone in its input, less the end of its line.
func readKey(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxKeyBytes+3)) // and \r\n, and one too many
	if err != nil {
		return "", err
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	switch {
	case len(text) == 0:
		return "", errors.New("no key on standard input; give it there, as in `govsvc keys import ... < key.txt`")
	case len(text) > maxKeyBytes:
		return "", errors.New("the key on standard input has more than 512 bytes; give one key alone")
	case bytes.ContainsAny(text, "\r\n"):
		return "", errors.New("standard input has more than one line; give one key alone")
	}
	return string(text), nil
}

// interruptibleReader is an input that ends with ctx, although a read from a
// terminal can't be called off.
func interruptibleReader(ctx context.Context, from io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	return r
}

// maxKeyBytes is the length in bytes of the longest key that is let in.
const maxKeyBytes = 512
