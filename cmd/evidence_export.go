package cmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"govsvc/db"
)

func newEvidenceExportCommand(a *app) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "export ID",
		Short: "Write a filed pack's zip to a file",
		Long: `Write the zip of a filed evidence pack to a file. The file gets its name when it
is complete, and replaces a file of that name. Only its owner can read it. The
audit log records each export.`,
		Example: `  govsvc evidence export 0199db4e-7f60-7c63-8a3e-2f1d5b0c9a11 --out q3.zip`,
		Args:    arguments("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withOrg(c.Context(), mustExist, func(store *db.DB, org db.Organisation) error {
				if out == "-" {
					_, err := store.Evidence.Export(c.Context(), a.actor(org.Org), args[0], a.stdout)
					return err
				}
				return writePack(c.Context(), a, store, org, args[0], out)
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "the `FILE` to write; - is stdout (required)")
	markRequired(c, "out")
	return c
}

func writePack(ctx context.Context, a *app, store *db.DB, org db.Organisation, id, out string) error {
	return writeFile(store, out, func(w io.Writer) error {
		_, err := store.Evidence.Export(ctx, a.actor(org.Org), id, w)
		return err
	})
}
