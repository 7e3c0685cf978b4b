package cmd

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"govsvc/db"
)

// longestKey is the length in bytes of the longest key that is let in.
const longestKey = 512

func newKeysImportCommand(a *app) *cobra.Command {
	var draft db.KeyDraft
	c := &cobra.Command{
		Use:   "import --name NAME --scope SCOPE[,SCOPE...]",
		Short: "Store a key that was minted elsewhere, read from stdin",
		Long: `Read one plaintext key from standard input and store its hash: the way in for
keys that were minted elsewhere and keep working. Such a key starts with
gov_live_ or gov_test_, which makes it a live or a test key, and has at least
24 more characters. It is read from stdin so that it is in no shell history and
no list of processes. Scopes are those of "govsvc keys mint".`,
		Example: `  govsvc keys import --name "legacy reports" --scope read:all < key.txt
  pass show govsvc/legacy | govsvc keys import --name legacy --scope read:risks,write:risks`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			plain, err := readKey(interruptible(c.Context(), a.stdin))
			if err != nil {
				return err
			}
			return a.withOrg(c.Context(), anyFile, func(store *db.DB, org db.Organisation) error {
				return runKeysImport(c.Context(), a, store, org, draft, plain)
			})
		},
	}
	keyDraftFlags(c, &draft)
	return c
}

func runKeysImport(ctx context.Context, a *app, store *db.DB, org db.Organisation, draft db.KeyDraft, plain string) error {
	key, err := store.ImportKey(ctx, a.by(org.Org), draft, plain)
	if err != nil {
		return err
	}
	return printKey(a, "imported", shown(key, store.Now()))
}

// readKey reads a key that is alone in its input, less the end of its line.
func readKey(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, longestKey+3)) // and \r\n, and one too many
	if err != nil {
		return "", err
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	switch {
	case len(text) == 0:
		return "", errors.New("no key on standard input; give it there, as in `govsvc keys import ... < key.txt`")
	case len(text) > longestKey:
		return "", errors.New("the key on standard input has more than 512 bytes; give one key alone")
	case bytes.ContainsAny(text, "\r\n"):
		return "", errors.New("standard input has more than one line; give one key alone")
	}
	return string(text), nil
}

// interruptible is an input that ends with ctx, although a read from a
// terminal can't be called off.
func interruptible(ctx context.Context, from io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	return r
}
