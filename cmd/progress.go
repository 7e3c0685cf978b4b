package cmd

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"govsvc/server/transfer"
)

// longImport is the size in bytes from which an import is worth a bar.
const longImport = 4 << 20

// bar shows the progress of an import; its zero value shows nothing.
type bar struct {
	shown *progressbar.ProgressBar
	stage transfer.Stage
}

// progress makes a bar if somebody watches and has to wait.
func (a *app) progress(sources []transfer.Source) *bar {
	total := int64(0)
	for _, source := range sources {
		total += source.Size
	}
	if total < longImport || !terminal(a.stderr) {
		return &bar{}
	}
	return &bar{shown: progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionShowBytes(true),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
	)}
}

// terminal tells whether what is written is seen as it is written.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) //nolint:gosec // a descriptor fits an int
}

var stageNames = map[transfer.Stage]string{transfer.StageCheck: "checking", transfer.StageWrite: "writing"}

func (b *bar) show(p transfer.Progress) {
	if b.shown == nil {
		return
	}
	if b.stage != p.Stage {
		b.stage = p.Stage
		b.shown.Reset()
		b.shown.Describe(stageNames[p.Stage])
	}
	// short of the end, at which the bar would be over before the second stage
	_ = b.shown.Set64(min(p.Bytes, b.shown.GetMax64()-1)) // a terminal that is gone ends no import
}

func (b *bar) clear() {
	if b.shown != nil {
		_ = b.shown.Clear()
	}
}
