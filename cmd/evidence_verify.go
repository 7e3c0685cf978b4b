package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"govsvc/server/evidence"
)

func newEvidenceVerifyCommand(a *app) *cobra.Command {
	var sha256 string
	c := &cobra.Command{
		Use:   "verify PACK.zip",
		Short: "Check every byte of a pack, offline",
		Long: `Check every byte of a pack's zip without a data file. The manifest must be
canonical. The pack must have each item with its size and SHA-256, and nothing
else, and the zip format must be the one that was filed. The exit status is 0 if
all of this is true and 1 if not. The error names the first file that differs.

An attacker could replace a pack and its manifest together. So compare the
printed manifest_sha256 with the one of "govsvc evidence list" or of the event
evidence.pack_filed, or pass that one with --sha256.

--json prints an object: file, intact, manifest_sha256, manifest, and fault
(null, or path and reason). It is also printed if the check fails.`,
		Example: `  govsvc evidence verify q3.zip
  govsvc evidence verify q3.zip --sha256 "$(cat q3.sha256)"`,
		Args: arguments("PACK.zip"),
		RunE: func(c *cobra.Command, args []string) error {
			return runEvidenceVerify(c.Context(), a, args[0], sha256)
		},
	}
	c.Flags().Var(textValue{&sha256, "HASH", parseDigest}, "sha256", "the manifest must have this SHA-256")
	return c
}

// packResult is the result of the check of a pack.
type packResult struct {
	File           string                      `json:"file"`
	Intact         bool                        `json:"intact"`
	ManifestSHA256 *string                     `json:"manifest_sha256"`
	Manifest       *evidence.Manifest          `json:"manifest"`
	Fault          *evidence.VerificationError `json:"fault"`
}

func runEvidenceVerify(ctx context.Context, a *app, path, sha256 string) error {
	info, err := statRegular(path)
	if err != nil {
		return fmt.Errorf("%w; name the zip file of a pack", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	pack, err := evidence.Verify(ctx, file, info.Size())
	found := packResult{File: path, Intact: err == nil}
	if err == nil {
		found.ManifestSHA256, found.Manifest = &pack.ManifestSHA256, &pack.Manifest
		if sha256 != "" && sha256 != pack.ManifestSHA256 {
			found.Intact = false
			err = &evidence.VerificationError{Path: "manifest.json", Reason: fmt.Sprintf("its SHA-256 is %s, not %s: this is a different pack, or a forged one", pack.ManifestSHA256, sha256)}
		}
	}
	if err != nil {
		if errors.As(err, &found.Fault) && a.json {
			err = errors.Join(a.printJSON(found), err)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return a.print(found, func(w io.Writer) error {
		m := pack.Manifest
		_, err := fmt.Fprintf(w, "%s: unchanged since it was filed, %d items\ntitle %s\norganisation %s\nfiled %s by %s\nmanifest_sha256 %s\n",
			oneLine(path), len(m.Items), oneLine(m.Title), oneLine(m.Organisation.Name), oneLine(m.FiledAt), oneLine(m.FiledBy), pack.ManifestSHA256)
		return err
	})
}
