package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"govsvc/db"
	"govsvc/server/transfer"
)

// minProgressBytes is the size in bytes from which an import is worth a bar.
const minProgressBytes = 4 << 20

// bar shows the progress of an import: its stage, how many records of it are
// through and how many a second, and the part of the bytes as a percentage. Its
// zero value shows nothing.
type bar struct {
	shown *progressbar.ProgressBar
	stage transfer.Stage
	began time.Time // the stage
}

// newBar makes a bar if somebody watches and has to wait.
func newBar(a *app, sources []transfer.Source) *bar {
	total := sizeOf(sources)
	if total < minProgressBytes || !isTerminal(a.stderr) {
		return &bar{}
	}
	return &bar{shown: progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
	)}
}

func sizeOf(sources []transfer.Source) int64 {
	total := int64(0)
	for _, source := range sources {
		total += source.Size
	}
	return total
}

// isTerminal tells whether what is written is seen as it is written.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) //nolint:gosec // a descriptor fits an int
}

var stageNames = map[transfer.Stage]string{transfer.StageCheck: "checking", transfer.StageWrite: "writing"}

func (b *bar) show(p transfer.Progress) {
	if b.shown == nil {
		return
	}
	if b.stage != p.Stage {
		b.stage, b.began = p.Stage, time.Now()
		b.shown.Reset()
	}
	rate := 0.0
	if took := time.Since(b.began).Seconds(); took > 0 {
		rate = float64(p.Records) / took
	}
	b.shown.Describe(fmt.Sprintf("%s, %s rows, %s rows/s", stageNames[p.Stage], withCommas(p.Records), withCommas(int(rate))))
	// short of the end, at which the bar would be over before the second stage
	_ = b.shown.Set64(min(p.Bytes, b.shown.GetMax64()-1)) // a terminal that is gone ends no import
}

// withCommas writes a number that is not below zero with commas: 1,234,567.
func withCommas(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func (b *bar) clear() {
	if b.shown != nil {
		_ = b.shown.Clear()
	}
}

// emptyLog gives back the room beside the data file that a long import took,
// whether it was stored or taken back: while a server has the file open, SQLite
// would keep it.
func emptyLog(ctx context.Context, store *db.DB, sources []transfer.Source) {
	if sizeOf(sources) >= minProgressBytes {
		_ = store.Checkpoint(context.WithoutCancel(ctx)) // what the import did stands without it
	}
}
