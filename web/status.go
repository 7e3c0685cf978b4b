package web

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"govsvc/db"
)

// statusData is what the page about the service shows.
type statusData struct {
	Tiles   []tile
	Program []Fact
	File    []Fact
	Queue   []Fact
	Late    string // how late deliveries are; "" if they are not
	Dead    bool
	Backup  []Fact
	Failed  *failedBackup // since the last that was made
	Limits  []Fact
	Counts  Table
}

// failedBackup is an attempt that made none.
type failedBackup struct{ At, Why string }

// lateness is how long deliveries may be due before the page says that they
// are late.
const lateness = 2 * time.Minute

// status shows how the service and its file are doing.
func (v *visit) status() error {
	file, err := v.Store.Status(v.r.Context())
	if err != nil {
		return err
	}
	last, err := v.Store.LastBackup(v.r.Context())
	if err != nil {
		return err
	}
	data := statusData{
		Program: []Fact{
			{Label: "Version", Value: v.Version},
			{Label: "Commit", Kind: Code, Value: v.Commit},
			{Label: "Go", Value: runtime.Version()},
			{Label: "SQLite", Value: db.SQLiteVersion()},
			{Label: "API", Value: v.Document.Version},
		},
		File: []Fact{
			{Label: "Name", Kind: Code, Value: filepath.Base(file.Path)},
			{Label: "Size", Value: size(file.Size)},
			{Label: "Writes beside it (WAL)", Value: size(file.WALSize)},
			{Label: "Pages", Value: number(file.Pages) + " of " + size(file.PageSize) + " each"},
			{Label: "Free pages", Value: freePages(file)},
		},
		Queue: []Fact{
			{Label: "Waiting", Kind: Number, Value: file.Queued},
			{Label: "Oldest due", Kind: Time, Value: file.OldestDue},
			{Label: "Dead letters", Kind: Number, Value: file.DeadLetters},
		},
		Dead: file.DeadLetters > 0, Limits: v.limits(), Counts: countTable(file),
	}
	if file.OldestDue == nil {
		data.Queue[1] = Fact{Label: "Oldest due", Value: "nothing waits"}
	}
	data.Late = v.late(file)
	data.Backup, data.Failed = backupFacts(last)
	data.Tiles = []tile{
		{Label: "Data file", Value: size(file.Size)},
		{Label: "Deliveries waiting", Value: number(file.Queued)},
		{Label: "Dead letters", Path: "/webhooks/deadletters", Value: number(file.DeadLetters)},
		{Label: "Audit events", Path: auditPath, Value: number(file.AuditEvents)},
	}
	return v.render("status", "Status", data)
}

func freePages(file db.Status) string {
	if file.Pages == 0 {
		return number(file.FreePages)
	}
	return number(file.FreePages) + " (" + percent(file.FreePages*100/file.Pages) + ")"
}

// late says how late deliveries are, if they are.
func (v *visit) late(file db.Status) string {
	if due, _, ok := moment(file.OldestDue); ok {
		if behind := v.Store.Now().Sub(due); behind > lateness {
			return "Deliveries of webhooks are late: the oldest has been due for " + span(behind) + "."
		}
	}
	return ""
}

// backupFacts tell of the last backup, and of a later one that failed.
func backupFacts(last db.LastBackup) ([]Fact, *failedBackup) {
	var facts []Fact
	if made := last.Made; made != nil {
		facts = []Fact{
			{Label: "Made", Kind: Time, Value: made.At}, {Label: "File", Kind: Code, Value: filepath.Base(made.Path)}, {Label: "Size", Value: size(made.Bytes)},
		}
	}
	failed := last.Failed
	if failed == nil {
		return facts, nil
	}
	// folders of the machine are nobody's business here
	return facts, &failedBackup{failed.At, strings.ReplaceAll(failed.Error, filepath.Dir(failed.Path)+string(filepath.Separator), "")}
}

// limits are those in force, beside the plans'.
func (v *visit) limits() []Fact {
	anonymous, memory := "no limit", "none"
	if v.AnonymousPerMinute > 0 {
		anonymous = number(v.AnonymousPerMinute) + " a minute and address"
	}
	if v.KeepAnswers > 0 {
		memory = number(v.KeepAnswers>>20) + " MiB"
	}
	return []Fact{
		{Label: "Requests without a valid key", Value: anonymous},
		{Label: "Answers held in memory", Value: memory},
		{Label: "A session ends when idle for", Value: span(db.SessionIdle)},
		{Label: "and at the latest after", Value: span(db.SessionLife)},
	}
}

// countTable lists how many records of each type the file holds.
func countTable(file db.Status) Table {
	table := Table{Caption: "Records in the file", Columns: []Column{{Label: "Type"}, {Label: "Records", Kind: Number}}}
	for _, c := range file.Counts {
		row := Row{Cells: []any{words(c.Object), c.Count}}
		if at := slices.IndexFunc(nouns, func(n *noun) bool { return n.object == c.Object }); at >= 0 {
			row.Href = nouns[at].list
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}
