package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/evidence"
)

func newEvidenceCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "evidence",
		Short: "File, list, take out and verify evidence packs",
		Long: `File, list, take out and verify evidence packs. A pack is one zip with the
organisation's evidence at one instant and the files attached to it. Its
manifest.json lists each item with its size and SHA-256; the SHA-256 of the
manifest, which is canonical JSON (RFC 8785), stands for the pack as a whole.`,
	}
	file, list, export := newEvidenceFileCommand(a), newEvidenceListCommand(a), newEvidenceExportCommand(a)
	verify := newEvidenceVerifyCommand(a)
	c.AddCommand(file, list, export, verify)
	a.orgFlag(file, list, export)
	a.jsonFlag(file, list, verify)
	return c
}

func newEvidenceFileCommand(a *app) *cobra.Command {
	var draft evidence.Draft
	var attach []string
	var out string
	c := &cobra.Command{
		Use:   "file",
		Short: "Assemble an evidence pack and file it",
		Long: fmt.Sprintf(`Assemble an evidence pack and file it in the data file, for good. It holds, all
of one instant: the present compliance posture, the obligations, the risks with
the reasons of their severity changes, the incidents with their timelines, the
KPIs with their check-ins, and the attached files. The event
evidence.pack_filed tells webhook receivers.

An attached file has at most %d MiB, all of them %d MiB. It keeps its name, in
which what is not a letter, a digit or one of a few signs becomes _.

With --json an object: object, id, title, regime_id, item_count,
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
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				return runEvidenceFile(c.Context(), a, store, org, draft, out)
			})
		},
	}
	c.Flags().Var(packTitle{&draft.Title}, "title", "what the pack is for (required)")
	c.Flags().Var(paths{&attach}, "attach", "put this file into the pack; repeatable, or separated by commas")
	c.Flags().StringVar(&draft.RegimeID, "regime", "", "only the obligations of the regime with this `ID`; default all")
	c.Flags().StringVar(&out, "out", "", "write the zip to `FILE`, too")
	require(c, "title")
	return c
}

func runEvidenceFile(ctx context.Context, a *app, store *db.DB, org db.Organisation, draft evidence.Draft, out string) error {
	if out == "-" {
		return misusef("--out: the pack can't go to stdout, where the result goes; name a file, or use `govsvc evidence export`")
	}
	if out != "" {
		if _, err := mayWrite(store, "--out", out); err != nil {
			return err
		}
	}
	pack, err := evidence.File(ctx, store, a.by(org.Org), org, draft)
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

// attachment is a file that is read when the pack is made.
func attachment(path string) evidence.Attachment {
	return evidence.Attachment{Name: filepath.Base(path), Open: func() (io.ReadCloser, error) {
		if _, err := ordinary(path); err != nil {
			return nil, fmt.Errorf("--attach: %w", err)
		}
		return os.Open(path)
	}}
}

// ordinary refuses what is no ordinary file: to open a pipe would wait.
func ordinary(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	return info, err
}

func newEvidenceListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the evidence packs, newest first",
		Long: `List an organisation's evidence packs, newest first. The last column is what
"govsvc evidence verify" prints of a pack that is as it was filed.

With --json an array of objects: object, id, title, regime_id (null: of all
regimes), item_count, manifest_sha256, size, filed_at and filed_by.`,
		Example: `  govsvc evidence list
  govsvc evidence list --org acme --json`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				packs, err := store.EvidencePacks(c.Context(), org.Org)
				if err != nil {
					return err
				}
				return a.print(packs, func(w io.Writer) error { return packTable(w, packs) })
			})
		},
	}
}

func packTable(w io.Writer, packs []db.EvidencePack) error {
	rows := make([][]string, len(packs))
	for i, p := range packs {
		rows[i] = []string{p.ID, p.Title, orDash(p.RegimeID), strconv.Itoa(p.ItemCount), strconv.FormatInt(p.Size, 10), p.FiledAt, p.FiledBy, p.ManifestSHA256}
	}
	return table(w, []string{"ID", "TITLE", "REGIME", "ITEMS", "BYTES", "FILED", "BY", "MANIFEST SHA-256"}, rows)
}

func newEvidenceExportCommand(a *app) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "export ID",
		Short: "Write a filed pack's zip to a file",
		Long: `Write the zip of a filed evidence pack to a file. The file stands complete
under its name or not at all; one that is there is replaced. It is readable by
its owner alone. The audit log notes each export.`,
		Example: `  govsvc evidence export 0199db4e-7f60-7c63-8a3e-2f1d5b0c9a11 --out q3.zip`,
		Args:    arguments("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withOrg(c.Context(), aFile, func(store *db.DB, org db.Organisation) error {
				if out == "-" {
					_, err := store.ExportEvidence(c.Context(), a.by(org.Org), args[0], a.stdout)
					return err
				}
				return writePack(c.Context(), a, store, org, args[0], out)
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "the `FILE` to write; - is stdout (required)")
	require(c, "out")
	return c
}

func writePack(ctx context.Context, a *app, store *db.DB, org db.Organisation, id, out string) error {
	return writeFile(store, out, func(w io.Writer) error {
		_, err := store.ExportEvidence(ctx, a.by(org.Org), id, w)
		return err
	})
}

func newEvidenceVerifyCommand(a *app) *cobra.Command {
	var sha256 string
	c := &cobra.Command{
		Use:   "verify PACK.zip",
		Short: "Check every byte of a pack, offline",
		Long: `Check every byte of a pack's zip, with nothing at hand but the zip: that the
manifest is canonical, that each item is there with its size and SHA-256 and
nothing else is, and that the zip around them is as it was filed. The exit
status is 0 if all is so, and 1 if not: the error then names the first file
that differs.

Who changes a pack can make a manifest that fits. So compare the
manifest_sha256 that is printed with the one that "govsvc evidence list" or the
event evidence.pack_filed tells, or give that with --sha256.

With --json an object: file, intact, manifest_sha256, manifest, and fault (null,
or path and reason). It is printed if the check fails, too.`,
		Example: `  govsvc evidence verify q3.zip
  govsvc evidence verify q3.zip --sha256 "$(cat q3.sha256)"`,
		Args: arguments("PACK.zip"),
		RunE: func(c *cobra.Command, args []string) error {
			return runEvidenceVerify(c.Context(), a, args[0], sha256)
		},
	}
	c.Flags().Var(digest{&sha256}, "sha256", "the manifest must have this SHA-256")
	return c
}

// packVerdict is what the check of a pack found.
type packVerdict struct {
	File           string             `json:"file"`
	Intact         bool               `json:"intact"`
	ManifestSHA256 *string            `json:"manifest_sha256"`
	Manifest       *evidence.Manifest `json:"manifest"`
	Fault          *evidence.Fault    `json:"fault"`
}

func runEvidenceVerify(ctx context.Context, a *app, path, sha256 string) error {
	info, err := ordinary(path)
	if err != nil {
		return fmt.Errorf("%w; give the zip of a pack", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was read
	pack, err := evidence.Verify(ctx, file, info.Size())
	found := packVerdict{File: path, Intact: err == nil}
	if err == nil {
		found.ManifestSHA256, found.Manifest = &pack.ManifestSHA256, &pack.Manifest
		if sha256 != "" && sha256 != pack.ManifestSHA256 {
			found.Intact = false
			err = &evidence.Fault{Path: "manifest.json", Reason: fmt.Sprintf("its SHA-256 is %s, not %s: this is another pack, or it was made to look like this one", pack.ManifestSHA256, sha256)}
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
		_, err := fmt.Fprintf(w, "%s: every byte is as it was filed, %d items\ntitle %s\norganisation %s\nfiled %s by %s\nmanifest_sha256 %s\n",
			oneLine(path), len(m.Items), oneLine(m.Title), oneLine(m.Organisation.Name), oneLine(m.FiledAt), oneLine(m.FiledBy), pack.ManifestSHA256)
		return err
	})
}

// packTitle is the title of a pack.
type packTitle struct{ value *string }

func (v packTitle) Type() string   { return "TITLE" }
func (v packTitle) String() string { return *v.value }

func (v packTitle) Set(text string) error {
	text = strings.TrimSpace(text)
	if n := utf8.RuneCountInString(text); n == 0 || n > evidence.MaxTitle || !utf8.ValidString(text) {
		return fmt.Errorf("a title has 1 to %d characters", evidence.MaxTitle)
	}
	*v.value = text
	return nil
}

// paths is a repeatable flag of files. A file whose name has a comma counts as
// one.
type paths struct{ values *[]string }

func (v paths) Type() string   { return "FILE" }
func (v paths) String() string { return strings.Join(*v.values, ",") }

func (v paths) Set(text string) error {
	if _, err := os.Stat(text); err == nil {
		*v.values = append(*v.values, text)
		return nil
	}
	return list{values: v.values}.Set(text)
}
