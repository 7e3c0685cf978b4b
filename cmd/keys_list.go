package cmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newKeysListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List an organisation's keys, newest first",
		Long: `List an organisation's keys, newest first, revoked and expired ones included.

The state is active, revoked or expired. A running server stores the time of the
last use every few seconds. With --json each key also has its own limits (rpm
and rpd; null if the plan's apply) and last_used_at (null: never).`,
		Example: `  govsvc keys list
  govsvc keys list --json | jq -r '.[] | select(.state == "active") | .id'`,
		Args: arguments(),
		RunE: inOrg(a, runKeysList),
	}
}

func runKeysList(ctx context.Context, a *app, store *db.DB, org db.Organisation) error {
	keys, err := store.Keys.List(ctx, org.Org)
	if err != nil {
		return err
	}
	list := make([]keyView, len(keys))
	for i, k := range keys {
		list[i] = newKeyView(k, store.Now())
	}
	header := []string{"ID", "PREFIX", "NAME", "KIND", "SCOPES", "CREATED", "EXPIRES", "LAST USED", "STATE"}
	return a.print(list, tableOf(header, list, func(k keyView) []string {
		return []string{k.ID, k.Prefix, k.Name, k.Kind, strings.Join(k.Scopes, ","), k.CreatedAt, orDash(k.ExpiresAt), orDash(k.LastUsedAt), k.State}
	}))
}
