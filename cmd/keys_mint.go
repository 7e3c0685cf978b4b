package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
)

// mintedKey is what minting shows, and shows once (contract, section 1).
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

func newKeysMintCommand(a *app) *cobra.Command {
	var draft db.KeyDraft
	var test bool
	c := &cobra.Command{
		Use:        "mint --name NAME --scope SCOPE[,SCOPE...]",
		SuggestFor: []string{"create", "new", "add"},
		Short:      "Make a new key and print it, once",
		Long: `Make a new key and print it. Stdout holds the key alone; what else there is to
know goes to stderr. The key can't be shown again: only its hash is stored.

Scopes: read:scores, read:scorecard, read:risks, read:signals, read:roadmap,
read:compliance, read:vendor, read:talent, read:incidents, read:kpis,
read:audit, write:risks, write:incidents, write:kpis, write:vendor,
manage:webhooks; and read:all, which stands for every read scope but
read:audit.

manage:webhooks alone lets a key receive the records that events carry, such as
risks, scorecards and roadmaps, even without a read scope.

With --json an object: id, key, prefix, name, kind (live or test), scopes,
created_at and expires_at (null: never).`,
		Example: `  KEY=$(govsvc keys mint --name reports --scope read:all)
  govsvc keys mint --name importer --scope read:kpis,write:kpis --expires 2027-03-31
  govsvc keys mint --name try --scope read:all --scope write:risks --test --json`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			draft.Kind = db.LiveKey
			if test {
				draft.Kind = db.TestKey
			}
			return a.withOrg(c.Context(), anyFile, func(store *db.DB, org db.Organisation) error {
				key, plain, err := store.MintKey(c.Context(), a.by(org.Org), draft)
				return printMintedKey(a, key, plain, err)
			})
		},
	}
	keyDraftFlags(c, &draft)
	c.Flags().BoolVar(&test, "test", false, "a test key, which works on synthetic data only")
	return c
}

// keyDraftFlags are those of the commands that store a key of their own making.
func keyDraftFlags(c *cobra.Command, draft *db.KeyDraft) {
	flags := c.Flags()
	flags.Var(title{&draft.Name}, "name", "what the key is for, shown in lists (required)")
	flags.Var(list{&draft.Scopes, knownScope, "SCOPE"}, "scope", "what the key may do; repeatable, or separated by commas (required)")
	flags.Var(future{&draft.ExpiresAt}, "expires", "when the key ends: a date (midnight UTC) or an RFC 3339 time; never without")
	flags.Var(count{&draft.PerMinute, 1}, "rpm", "requests a minute, instead of the plan's")
	flags.Var(count{&draft.PerDay, 1}, "rpd", "requests in any 24 hours, instead of the plan's")
	require(c, "name", "scope")
}

// printMintedKey shows a new key, if it was made.
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
		a.note("The key is shown this once: only its hash is stored.")
		return nil
	})
}

func newKeysRotateCommand(a *app) *cobra.Command {
	overlap := 24 * time.Hour
	c := &cobra.Command{
		Use:   "rotate ID|PREFIX",
		Short: "Mint a key's successor and let the old one expire",
		Long: `Mint a successor with the same name, kind, scopes and limits, and let the old
key expire after the overlap, if it would not end sooner. The successor itself
does not expire. It is printed as "govsvc keys mint" does: stdout holds the new
key alone, and only this once.`,
		Example: `  KEY=$(govsvc keys rotate gds_live_4fQ9sLx0aZ2b --overlap 72h)
  govsvc keys rotate 01923f5e-7a10-7cc3-98c4-dc0c0c07398f --overlap 0s --json`,
		Args: arguments("ID|PREFIX"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				return runKeysRotate(c.Context(), a, store, org, args[0], overlap)
			})
		},
	}
	c.Flags().Var(span{&overlap}, "overlap", "how long the old key still works, like 24h, 90m or 0s")
	return c
}

func runKeysRotate(ctx context.Context, a *app, store *db.DB, org db.Organisation, old string, overlap time.Duration) error {
	key, plain, err := store.RotateKey(ctx, a.by(org.Org), old, overlap)
	return printMintedKey(a, key, plain, err)
}
