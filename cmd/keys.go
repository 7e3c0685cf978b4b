package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/openapi"
)

func newKeysCommand(a *app) *cobra.Command {
	keys := &cobra.Command{
		Use:   "keys",
		Short: "Mint, list, revoke, rotate and import API keys",
		Long: `Mint, list, revoke, rotate and import API keys.

A key belongs to one organisation and may do what its scopes say. A live key
works on the organisation's data, a test key on a fixed set of synthetic data.
Only a hash of a key is stored, so a key is shown once, when it is minted.`,
	}
	mint, rotate, imported := newKeysMintCommand(a), newKeysRotateCommand(a), newKeysImportCommand(a)
	list, revoke := newKeysListCommand(a), newKeysRevokeCommand(a)
	a.reasonFlag(revoke, rotate)
	keys.AddCommand(mint, list, revoke, rotate, imported)
	a.orgFlag(keys.Commands()...)
	a.jsonFlag(keys.Commands()...)
	return keys
}

// keyView is a key as the commands show it.
type keyView struct {
	db.Key
	State string `json:"state"`
}

func newKeyView(k db.Key, now time.Time) keyView {
	state := "active"
	switch {
	case k.RevokedAt != nil:
		state = "revoked"
	case k.Ended(now):
		state = "expired"
	}
	return keyView{k, state}
}

// printKey prints what was done to a key.
func printKey(a *app, verb string, k keyView) error {
	return a.print(k, func(w io.Writer) error {
		_, err := io.WriteString(w, oneLine(verb+" "+k.ID+" ("+k.Prefix+", "+k.Name+")")+"\n")
		return err
	})
}

// keyDraftFlags defines the flags of the commands that store a new key.
func keyDraftFlags(c *cobra.Command, draft *db.KeyDraft) {
	flags := c.Flags()
	flags.Var(textValue{&draft.Name, "NAME", bounded("a name", db.KeyNameLimit)}, "name", "what the key is for; lists show it (required)")
	flags.Var(listValue{&draft.Scopes, checkScope, "SCOPE"}, "scope", "what the key may do; repeatable, or separated by commas (required)")
	flags.Var(futureValue{&draft.ExpiresAt}, "expires", "when the key expires: a date (midnight UTC) or an RFC 3339 time; default: never")
	flags.Var(countValue{&draft.PerMinute, 1}, "rpm", "requests a minute, instead of the plan's")
	flags.Var(countValue{&draft.PerDay, 1}, "rpd", "requests in any 24 hours, instead of the plan's")
	markRequired(c, "name", "scope")
}

// mintedKey is the result of minting, which is shown once (contract, section 1).
type mintedKey struct {
	ID        string   `json:"id"`
	Key       string   `json:"key"`
	Prefix    string   `json:"prefix"`
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Scopes    []string `json:"scopes"`
	CreatedAt string   `json:"created_at"`
	ExpiresAt *string  `json:"expires_at"`
}

// printMintedKey prints a new key, or returns the error.
func printMintedKey(a *app, k db.Key, plain string, err error) error {
	if err != nil {
		return err
	}
	minted := mintedKey{k.ID, plain, k.Prefix, k.Name, k.Kind, k.Scopes, k.CreatedAt, k.ExpiresAt}
	return a.print(minted, func(w io.Writer) error {
		if _, err := fmt.Fprintln(w, plain); err != nil {
			return err
		}
		ends := "never expires"
		if k.ExpiresAt != nil {
			ends = "expires " + *k.ExpiresAt
		}
		a.note("%s", oneLine(fmt.Sprintf("%s key %s (%s), %s, %s", k.Kind, k.ID, k.Name, strings.Join(k.Scopes, ","), ends)))
		a.note("The key is shown only once: only its hash is stored.")
		return nil
	})
}

// checkScope refuses an unknown scope.
func checkScope(name string) error {
	if known := openapi.Scopes(); !slices.Contains(known, name) {
		return fmt.Errorf("no scope is named %q; the scopes are %s", name, strings.Join(known, ", "))
	}
	return nil
}
