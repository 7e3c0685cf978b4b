package cmd

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newEvidenceListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the evidence packs, newest first",
		Long: `List an organisation's evidence packs, newest first. The last column is the hash
that "govsvc evidence verify" prints for an unchanged pack.

--json prints an array of objects: object, id, title, regime_id (null: of all
regimes), item_count, manifest_sha256, size, filed_at and filed_by.`,
		Example: `  govsvc evidence list
  govsvc evidence list --org acme --json`,
		Args: arguments(),
		RunE: inOrg(a, runEvidenceList),
	}
}

func runEvidenceList(ctx context.Context, a *app, store *db.DB, org db.Organisation) error {
	packs, err := store.Evidence.List(ctx, org.Org)
	if err != nil {
		return err
	}
	header := []string{"ID", "TITLE", "REGIME", "ITEMS", "BYTES", "FILED", "BY", "MANIFEST SHA-256"}
	return a.print(packs, tableOf(header, packs, func(p db.EvidencePack) []string {
		return []string{p.ID, p.Title, orDash(p.RegimeID), strconv.Itoa(p.ItemCount), strconv.FormatInt(p.Size, 10), p.FiledAt, p.FiledBy, p.ManifestSHA256}
	}))
}
