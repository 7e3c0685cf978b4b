package cmd

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
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

// statRegular refuses what is no ordinary file: to open a pipe would wait.
func statRegular(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	return info, err
}
