package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/transfer"
)

func (a *app) exportCommand() *cobra.Command {
	var types []string
	var out string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write records out, as import reads them",
		Long: `Write an organisation's records out in the format that "govsvc import" reads:
one JSON object a line, or one JSON array with --json. All that is written
belongs to one instant, whatever a running server changes meanwhile.

With --out the file stands complete under its name or not at all; one that is
there is replaced. It is readable by its owner alone. The audit log notes each
export.

The types:
` + typesText(),
		Example: `  govsvc export --out backup.ndjson
  govsvc export --type risk --type incident | gzip > risks.ndjson.gz
  govsvc export --org acme --json | jq length`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				return a.export(c.Context(), store, org, types, out)
			})
		},
	}
	c.Flags().Var(list{&types, knownType, "TYPE"}, "type", "write this type only; repeatable, or separated by commas; default all")
	c.Flags().StringVar(&out, "out", "", "write to `FILE` instead of stdout")
	c.Flags().BoolVar(&a.json, "json", false, "write one JSON array instead of one object a line")
	a.orgFlag(c)
	return c
}

// typesText lists the types on lines of their own.
func typesText() string { return wrapped(db.RecordTypes()) }

// wrapped lists names on a few lines, for a help text.
func wrapped(names []string) string {
	line := (len(names) + 2) / 3
	var lines []string
	for some := range slices.Chunk(names, line) {
		lines = append(lines, strings.Join(some, ", "))
	}
	return strings.Join(lines, ",\n") + "."
}

func knownType(name string) error {
	if all := db.RecordTypes(); !slices.Contains(all, name) {
		return fmt.Errorf("no type is named %q; the types are %s", name, strings.Join(all, ", "))
	}
	return nil
}

func (a *app) export(ctx context.Context, store *db.DB, org db.Organisation, types []string, out string) error {
	write := func(w io.Writer) error {
		array := &array{w: w}
		if a.json {
			w = array
		}
		_, err := transfer.Export(ctx, store, db.By{Org: org.Org, Actor: system}, org.Org, types, w)
		if a.json && err == nil {
			err = array.close()
		}
		return err
	}
	if out == "" || out == "-" {
		return write(a.stdout)
	}
	return writeFile(out, write)
}

// array makes one JSON array of the lines that are written to it.
type array struct {
	w            io.Writer
	begun, ended bool // the array; the line before
}

func (a *array) Write(p []byte) (int, error) {
	text := a.begin()
	for _, b := range p {
		if a.ended {
			text = append(text, ',', '\n')
		}
		if a.ended = b == '\n'; !a.ended {
			text = append(text, b)
		}
	}
	if _, err := a.w.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (a *array) begin() []byte {
	if a.begun {
		return nil
	}
	a.begun = true
	return []byte{'['}
}

func (a *array) close() error {
	_, err := a.w.Write(append(a.begin(), ']', '\n'))
	return err
}

// writeFile writes a file beside the one that is named and then gives it that
// name, so that no half of it ever stands there.
func writeFile(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("--out: %s is a folder; name a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		return writeInto(path, write) // a device or a pipe, which must stay one
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--out: %w", err)
	case err == nil:
		if path, err = filepath.EvalSymlinks(path); err != nil { // a link stays, too
			return fmt.Errorf("--out: %w", err)
		}
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // err is what the user must hear of
	}
	return err
}

func writeInto(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return errors.Join(write(file), file.Close())
}
