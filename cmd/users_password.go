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

// longestLine bounds in bytes the line that a password is read from; the store
// bounds the password.
const longestLine = 4096

// newPassword asks for a user's password at a terminal, or else reads it from
// standard input, where it stands alone.
func newPassword(ctx context.Context, a *app, name string) (string, error) {
	file, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) { //nolint:gosec // a descriptor fits an int
		return readPassword(interruptible(ctx, a.stdin))
	}
	first, err := promptPassword(ctx, a, file, fmt.Sprintf("Password for %s: ", oneLine(name)))
	if err != nil {
		return "", err
	}
	second, err := promptPassword(ctx, a, file, "The same again: ")
	if err == nil && first != second {
		err = errors.New("the two passwords differ; run the command again")
	}
	return first, err
}

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
	text, err := io.ReadAll(io.LimitReader(r, longestLine+3)) // and \r\n, and one too many
	if err != nil {
		return "", err
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	switch {
	case len(text) == 0:
		return "", errors.New("no password on standard input; pipe one line into the command, or run it at a terminal")
	case len(text) > longestLine:
		return "", errors.New("the line on standard input is too long for a password")
	case bytes.ContainsAny(text, "\r\n"):
		return "", errors.New("standard input has more than one line; give the password alone")
	}
	return string(text), nil
}
