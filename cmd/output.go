package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"
	"unicode"
)

// checkedWriter keeps the first error of writing the result. So the command fails when
// the disk of a redirection is full.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}

// report writes the one line of an error and returns the exit status.
func (a *app) report(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted; the command was not completed")
	}
	a.note("govsvc: %s", oneLine(errorText(err)))
	var wrong *usageError
	if errors.As(err, &wrong) || !a.started {
		return exitUsage
	}
	return exitFailed
}

// errorText returns the text of an error. It omits the name of the system call that
// failed on a file.
func errorText(err error) string {
	text := err.Error()
	var failed *fs.PathError
	if errors.As(err, &failed) {
		text = strings.Replace(text, failed.Error(), failed.Path+": "+failed.Err.Error(), 1)
	}
	return text
}

// note prints a line that is not part of the result.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, format+"\n", args...)
}

// printJSON writes the one JSON value of a command.
func (a *app) printJSON(value any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// printLine writes a value as one line of JSON, for commands that run until they
// are stopped.
func (a *app) printLine(value any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// print writes the result as JSON, or calls write for the text.
func (a *app) print(value any, write func(io.Writer) error) error {
	if a.json {
		return a.printJSON(value)
	}
	return write(a.stdout)
}

// table writes aligned rows below a header.
func table(w io.Writer, header []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		for i, text := range row {
			row[i] = oneLine(text)
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// tableOf returns the table of a list: the header, and one row for each value.
func tableOf[T any](header []string, list []T, row func(T) []string) func(io.Writer) error {
	return func(w io.Writer) error {
		rows := make([][]string, len(list))
		for i, value := range list {
			rows[i] = row(value)
		}
		return table(w, header, rows)
	}
}

// oneLine joins lines, and replaces characters that control a terminal.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.Join(lines, "; "))
}

// orDash returns a text, or a dash without one.
func orDash(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}

// formatCount formats a number of things, as in "2 events".
func formatCount(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// wrapText wraps a paragraph of a help text at 80 columns.
func wrapText(text string) string {
	var wrapped strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > 80:
			wrapped.WriteByte('\n')
			column = 0
		default:
			wrapped.WriteByte(' ')
			column++
		}
		wrapped.WriteString(word)
		column += len(word)
	}
	return wrapped.String()
}
