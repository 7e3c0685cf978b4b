package cmd

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newKeysCommand(a *app) *cobra.Command {
	keys := &cobra.Command{
		Use:   "keys",
		Short: "Mint, list, revoke, rotate and import API keys",
		Long: `Mint, list, revoke, rotate and import API keys.

A key belongs to one organisation and may do what its scopes say. A live key
works on the organisation's data, a test key on a fixed set of synthetic data.
Only a hash of a key is stored: its text is shown once, when it is minted.`,
	}
	mint, rotate, imported := newKeysMintCommand(a), newKeysRotateCommand(a), newKeysImportCommand(a)
	list, revoke := newKeysListCommand(a), newKeysRevokeCommand(a)
	a.reasonFlag(revoke, rotate)
	keys.AddCommand(mint, list, revoke, rotate, imported)
	a.orgFlag(keys.Commands()...)
	a.jsonFlag(keys.Commands()...)
	return keys
}

// shownKey is a key as the commands show it.
type shownKey struct {
	db.Key
	State string `json:"state"`
}

func shown(k db.Key, now time.Time) shownKey {
	state := "active"
	switch {
	case k.RevokedAt != nil:
		state = "revoked"
	case k.Ended(now):
		state = "expired"
	}
	return shownKey{k, state}
}

func newKeysListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List an organisation's keys, newest first",
		Long: `List an organisation's keys, newest first, revoked and expired ones included.

The state is active, revoked or expired. A running server stores the time of the
last use every few seconds. With --json each key also has its own limits (rpm,
rpd; null where the plan's count) and last_used_at (null: never).`,
		Example: `  govsvc keys list
  govsvc keys list --json | jq -r '.[] | select(.state == "active") | .id'`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				return runKeysList(c.Context(), a, store, org)
			})
		},
	}
}

func runKeysList(ctx context.Context, a *app, store *db.DB, org db.Organisation) error {
	keys, err := store.Keys(ctx, org.Org)
	if err != nil {
		return err
	}
	list, rows := make([]shownKey, len(keys)), make([][]string, len(keys))
	for i, k := range keys {
		list[i] = shown(k, store.Now())
		rows[i] = []string{k.ID, k.Prefix, k.Name, k.Kind, strings.Join(k.Scopes, ","), k.CreatedAt, orDash(k.ExpiresAt), orDash(k.LastUsedAt), list[i].State}
	}
	return a.print(list, func(w io.Writer) error {
		return table(w, []string{"ID", "PREFIX", "NAME", "KIND", "SCOPES", "CREATED", "EXPIRES", "LAST USED", "STATE"}, rows)
	})
}

func newKeysRevokeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:        "revoke ID|PREFIX",
		SuggestFor: []string{"delete", "remove", "rm"},
		Short:      "End a key at once",
		Long: `End a key at once, a running server included. The key is named by its id or
its displayed prefix, as "govsvc keys list" shows them. Revoking a key that is
revoked changes nothing.`,
		Example: `  govsvc keys revoke 01923f5e-7a10-7cc3-98c4-dc0c0c07398f
  govsvc keys revoke gds_live_4fQ9sLx0aZ2b`,
		Args: arguments("ID|PREFIX"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				key, err := store.RevokeKey(c.Context(), a.by(org.Org), args[0])
				if err != nil {
					return err
				}
				return printKey(a, "revoked", shown(key, store.Now()))
			})
		},
	}
}

// printKey tells what was done to a key.
func printKey(a *app, verb string, k shownKey) error {
	return a.print(k, func(w io.Writer) error {
		_, err := io.WriteString(w, oneLine(verb+" "+k.ID+" ("+k.Prefix+", "+k.Name+")")+"\n")
		return err
	})
}
