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

// minProgressBytes is the size of the smallest import that shows a bar.
const minProgressBytes = 4 << 20

// bar shows the progress of an import: the phase, the number of records and their
// rate, and the percentage of the bytes. Its zero value shows nothing.
type bar struct {
	shown *progressbar.ProgressBar
	phase transfer.Phase
	began time.Time // the phase
}

// newBar makes a bar for a long import at a terminal.
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

// isTerminal reports whether a writer is a terminal.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) //nolint:gosec // a descriptor fits an int
}

var phaseNames = map[transfer.Phase]string{transfer.PhaseCheck: "checking", transfer.PhaseWrite: "writing"}

func (b *bar) show(p transfer.Progress) {
	if b.shown == nil {
		return
	}
	if b.phase != p.Phase {
		b.phase, b.began = p.Phase, time.Now()
		b.shown.Reset()
	}
	rate := 0.0
	if took := time.Since(b.began).Seconds(); took > 0 {
		rate = float64(p.Records) / took
	}
	b.shown.Describe(fmt.Sprintf("%s, %s rows, %s rows/s", phaseNames[p.Phase], withCommas(p.Records), withCommas(int(rate))))
	// At its maximum the bar would end before the second phase.
	_ = b.shown.Set64(min(p.Bytes, b.shown.GetMax64()-1)) // a closed terminal does not stop the import
}

// withCommas formats a number that is not negative: 1,234,567.
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

// emptyLog empties the write-ahead log after a long import, also after a failed one.
// While a server has the file open, SQLite would keep the log at its size.
func emptyLog(ctx context.Context, store *db.DB, sources []transfer.Source) {
	if sizeOf(sources) >= minProgressBytes {
		_ = store.File.Checkpoint(context.WithoutCancel(ctx)) // an error does not affect the import
	}
}
