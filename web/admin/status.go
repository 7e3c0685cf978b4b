package admin

import (
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/db/backup"
	"govsvc/db/dashboard"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// statusData is the argument of the page "Status".
type statusData struct {
	Tiles   []ui.Tile
	Program []ui.Fact
	File    []ui.Fact
	Queue   []ui.Fact
	Late    string // warning about late deliveries, or ""
	Dead    bool   // there are dead letters
	Backup  []ui.Fact
	Backups ui.Table // known backups, newest first
	Check   checkData
	Failed  *failedBackup // later than the last backup; can be nil
	Limits  []ui.Fact
	Counts  ui.Table
}

// failedBackup is an attempt to make a backup that failed.
type failedBackup struct{ At, Why string }

// lateAfter is how long a delivery is due before the page warns.
const lateAfter = 2 * time.Minute

// Show returns the page about the service and its data file.
func (c *Checks) Show(r *page.Request) error {
	file, err := dashboard.ReadStatus(r.Context(), r.Store)
	if err != nil {
		return err
	}
	last, err := backup.New(r.Store).Last(r.Context())
	if err != nil {
		return err
	}
	data := statusData{
		Program: []ui.Fact{
			{Label: "Version", Value: r.Service.Version},
			{Label: "Commit", Kind: ui.Code, Value: r.Service.Commit},
			{Label: "Go", Value: runtime.Version()},
			{Label: "SQLite", Value: db.SQLiteVersion},
			{Label: "API", Value: r.Document.Version},
		},
		File: []ui.Fact{
			{Label: "Name", Kind: ui.Code, Value: filepath.Base(file.Path)},
			{Label: "Size", Value: ui.FormatBytes(file.Size)},
			{Label: "Write-ahead log", Value: ui.FormatBytes(file.WALSize)},
			{Label: "Pages", Value: ui.FormatNumber(file.Pages) + " of " + ui.FormatBytes(file.PageSize) + " each"},
			{Label: "Free pages", Value: freePages(file)},
		},
		Queue: []ui.Fact{
			{Label: "Waiting", Kind: ui.Number, Value: file.Queued},
			{Label: "Oldest due", Kind: ui.Time, Value: file.OldestDue},
			{Label: "Dead letters", Kind: ui.Number, Value: file.DeadLetters},
		},
		Dead: file.DeadLetters > 0, Limits: limitFacts(r), Counts: countTable(file),
	}
	if file.OldestDue == nil {
		data.Queue[1] = ui.Fact{Label: "Oldest due", Value: "Queue empty"}
	}
	data.Late = lateDeliveries(r, file)
	data.Backup, data.Failed = backupFacts(last)
	if data.Backups, err = backupTable(r); err != nil {
		return err
	}
	if data.Check = c.state(r.Org()); data.Check.Form == nil {
		r.Writer.Header().Set("Refresh", "3") // shows the progress, also without a script
	}
	data.Tiles = []ui.Tile{
		{Label: "Data file", Value: ui.FormatBytes(file.Size)},
		{Label: "Deliveries waiting", Value: ui.FormatNumber(file.Queued)},
		{Label: "Dead letters", Path: "/webhooks/deadletters", Value: ui.FormatNumber(file.DeadLetters)},
		{Label: "Audit events", Path: auditPath, Value: ui.FormatNumber(file.AuditEvents)},
	}
	return r.Render("status", "Status", data)
}

func freePages(file dashboard.Status) string {
	if file.Pages == 0 {
		return ui.FormatNumber(file.FreePages)
	}
	return ui.FormatNumber(file.FreePages) + " (" + ui.FormatPercent(file.FreePages*100/file.Pages) + ")"
}

// lateDeliveries returns a warning if deliveries are late, or "".
func lateDeliveries(r *page.Request, file dashboard.Status) string {
	if due, _, ok := ui.ParseTime(file.OldestDue); ok {
		if behind := r.Store.Now().Sub(due); behind > lateAfter {
			return "Webhook deliveries are late. The oldest has been due for " + ui.FormatDuration(behind) + "."
		}
	}
	return ""
}

// backupFacts returns the last backup, and a later one that failed.
func backupFacts(last backup.Attempts) ([]ui.Fact, *failedBackup) {
	var facts []ui.Fact
	if made := last.Made; made != nil {
		facts = []ui.Fact{
			{Label: "Created", Kind: ui.Time, Value: made.At}, {Label: "File", Kind: ui.Code, Value: filepath.Base(made.Path)}, {Label: "Size", Value: ui.FormatBytes(made.Bytes)},
		}
	}
	failed := last.Failed
	if failed == nil {
		return facts, nil
	}
	// users do not see the folders of the machine
	return facts, &failedBackup{failed.At, strings.ReplaceAll(failed.Error, filepath.Dir(failed.Path)+string(filepath.Separator), "")}
}

// backupTable lists the known backups. It names no folder of the machine.
func backupTable(r *page.Request) (ui.Table, error) {
	table := ui.Table{Caption: "Known backups", Columns: []ui.Column{
		{Label: "File", Kind: ui.Code}, {Label: "Created", Kind: ui.Time}, {Label: "Size", Kind: ui.Number}, {Label: "State", Kind: ui.Badge},
	}}
	list, err := backup.New(r.Store).List(r.Context())
	for _, b := range list {
		state := "verified"
		if b.Missing {
			state = "missing"
		}
		table.Rows = append(table.Rows, ui.Row{Cells: []any{filepath.Base(b.Path), b.At, ui.FormatBytes(b.Bytes), state}})
	}
	return table, err
}

// limitFacts returns the limits that do not depend on the plan.
func limitFacts(r *page.Request) []ui.Fact {
	anonymous, memory := "no limit", "none"
	if r.Service.AnonymousPerMinute > 0 {
		anonymous = ui.FormatNumber(r.Service.AnonymousPerMinute) + " per minute and address"
	}
	if r.Service.KeepAnswers > 0 {
		memory = ui.FormatNumber(r.Service.KeepAnswers>>20) + " MiB"
	}
	return []ui.Fact{
		{Label: "Requests without a valid key", Value: anonymous},
		{Label: "Response cache", Value: memory},
		{Label: "Idle session ends after", Value: ui.FormatDuration(auth.SessionIdle)},
		{Label: "Maximum session", Value: ui.FormatDuration(auth.SessionLife)},
	}
}

// countTable counts the records of each type in the data file.
func countTable(file dashboard.Status) ui.Table {
	table := ui.Table{Caption: "Records in the data file", Columns: []ui.Column{{Label: "Type"}, {Label: "Records", Kind: ui.Number}}}
	for _, c := range file.Counts {
		table.Rows = append(table.Rows, ui.Row{Href: records.ListPath(c.Object), Cells: []any{ui.Humanize(c.Object), c.Count}})
	}
	return table
}
