package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/evidence"
)

func newEvidenceFileCommand(a *app) *cobra.Command {
	var draft evidence.Draft
	var attach []string
	var out string
	c := &cobra.Command{
		Use:   "file",
		Short: "Assemble an evidence pack and file it",
		Long: fmt.Sprintf(`Assemble an evidence pack and store it in the data file permanently. All of its
content is of one instant: the current compliance posture, the obligations, the
risks with the reasons of their severity changes, the incidents with their
timelines, the KPIs with their check-ins, and the attached files. Webhook
receivers get the event evidence.pack_filed.

An attached file has at most %d MiB, all of them together %d MiB. It keeps its
name, but characters other than letters, digits and some signs become _.

--json prints an object: object, id, title, regime_id, item_count,
manifest_sha256, size, filed_at and filed_by.`, evidence.MaxAttachment>>20, evidence.MaxAttached>>20),
		Example: `  govsvc evidence file --title "Q3 audit"
  govsvc evidence file --title "AI Act 2026" --regime eu-ai-act --attach policy.pdf,minutes.pdf
  govsvc evidence file --title "Q3 audit" --out q3.zip && govsvc evidence verify q3.zip`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			for _, path := range attach {
				draft.Attachments = append(draft.Attachments, attachment(path))
			}
			draft.Program = programVersion().Version
			return a.withOrg(c.Context(), mustExist, func(store *db.DB, org db.Organisation) error {
				return runEvidenceFile(c.Context(), a, store, org, draft, out)
			})
		},
	}
	c.Flags().Var(textValue{&draft.Title, "TITLE", bounded("a title", evidence.MaxTitle)}, "title", "what the pack is for (required)")
	c.Flags().Var(pathList{&attach}, "attach", "add this file to the pack; repeatable, or separated by commas")
	c.Flags().StringVar(&draft.RegimeID, "regime", "", "only the obligations of the regime with this `ID`; default all")
	c.Flags().StringVar(&out, "out", "", "also write the zip to `FILE`")
	markRequired(c, "title")
	return c
}

func runEvidenceFile(ctx context.Context, a *app, store *db.DB, org db.Organisation, draft evidence.Draft, out string) error {
	if out == "-" {
		return usageErrorf("--out: stdout is for the result; name a file, or use `govsvc evidence export`")
	}
	if out != "" {
		if _, err := checkOutput(store, "--out", out); err != nil {
			return err
		}
	}
	pack, err := evidence.File(ctx, store, a.actor(org.Org), org, draft)
	if err != nil {
		return err
	}
	if out != "" {
		if err := writePack(ctx, a, store, org, pack.ID, out); err != nil {
			return fmt.Errorf("the pack is filed as %s, but can't be written: %w", pack.ID, err)
		}
	}
	return a.print(pack, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "filed %s: %d items, %d bytes\nmanifest_sha256 %s\n", pack.ID, pack.ItemCount, pack.Size, pack.ManifestSHA256)
		return err
	})
}

// attachment returns a file that is read when the pack is assembled.
func attachment(path string) evidence.Attachment {
	return evidence.Attachment{Name: filepath.Base(path), Open: func() (io.ReadCloser, error) {
		if _, err := statRegular(path); err != nil {
			return nil, fmt.Errorf("--attach: %w", err)
		}
		return os.Open(path)
	}}
}

// pathList is a repeatable flag of files. A file whose name has a comma counts as
// one.
type pathList struct{ values *[]string }

func (v pathList) Type() string { return "FILE" }

func (v pathList) String() string { return strings.Join(*v.values, ",") }

func (v pathList) Set(text string) error {
	if _, err := os.Stat(text); err == nil {
		*v.values = append(*v.values, text)
		return nil
	}
	return listValue{values: v.values}.Set(text)
}
