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
		Short: "File, list, export and verify evidence packs",
		Long: `File, list, export and verify evidence packs. A pack is one zip file with the
organisation's evidence at one instant and the attached files. Its manifest.json
lists each item with its size and SHA-256. The manifest is canonical JSON (RFC
8785), and its SHA-256 identifies the whole pack.`,
	}
	file, list, export := newEvidenceFileCommand(a), newEvidenceListCommand(a), newEvidenceExportCommand(a)
	verify := newEvidenceVerifyCommand(a)
	c.AddCommand(file, list, export, verify)
	a.orgFlag(file, list, export)
	a.jsonFlag(file, list, verify)
	return c
}

// statRegular refuses a file that is not regular. Opening a pipe would block.
func statRegular(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	return info, err
}
