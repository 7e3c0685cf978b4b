package admin

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"time"

	"govsvc/server/api"
	"govsvc/server/transfer"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// auditExports returns the actions that download the events of the search of a request.
func auditExports(r *page.Request) []ui.Action {
	return []ui.Action{
		{Label: "Export CSV", Path: ui.WithQuery(auditPath+".csv", auditPairs(r)...)},
		{Label: "Export NDJSON", Path: ui.WithQuery(auditPath+".ndjson", auditPairs(r)...)},
	}
}

// auditColumns are the columns of the log as CSV.
var auditColumns = []string{
	"time", "actor", "actor_id", "action", "category", "severity", "record_type", "record", "record_id", "request_id", "address", "changes", "details", "event_id",
}

// ExportAuditCSV sends the events that the filters select as CSV, newest first, with the
// names of actors and records.
func ExportAuditCSV(r *page.Request) error {
	search, err := auditSearch(r)
	if err != nil {
		return err
	}
	download := auditDownload(r, "csv", "text/csv; charset=utf-8")
	sheet, begun := csv.NewWriter(download), false
	write := func(events []api.AuditEvent, _ [][]byte) error {
		lines, err := auditLines(r, events)
		if err != nil {
			return err
		}
		if !begun { // after the first read, so that its error is shown as a page
			begun = true
			_ = sheet.Write(auditColumns) // Error returns the error
		}
		for _, line := range lines {
			_ = sheet.Write(auditCells(line))
		}
		sheet.Flush()
		return sheet.Error()
	}
	err = api.ExportAudit(r.Context(), r.Caller, search, "csv", write)
	if err == nil && !begun {
		err = write(nil, nil)
	}
	return download.End(err)
}

// auditCells returns the cells of an event.
func auditCells(line auditLine) []string {
	metadata := line.Metadata
	request, address := ui.Text(metadata["request_id"]), ui.Text(metadata["address"])
	delete(metadata, "request_id")
	delete(metadata, "address")
	changes := map[string]any{}
	for _, change := range line.Changes {
		changes[change.Field] = map[string]any{"from": change.From, "to": change.To}
	}
	cells := []string{
		line.Time, line.Who, line.Actor, line.Action, line.Category, ui.Text(line.Severity), line.ResourceType, line.Record, line.ResourceID, request, address,
		jsonCell(changes), jsonCell(metadata), line.ID,
	}
	for i, cell := range cells {
		cells[i] = transfer.GuardText(cell)
	}
	return cells
}

// jsonCell returns an object as JSON, and "" for an empty one.
func jsonCell(object map[string]any) string {
	if len(object) == 0 {
		return ""
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(object) // cannot fail: the object was decoded from JSON
	return string(bytes.TrimSpace(text.Bytes()))
}

// ExportAuditNDJSON sends the events that the filters select as NDJSON, newest first.
// Each line is an event as the API returns it.
func ExportAuditNDJSON(r *page.Request) error {
	search, err := auditSearch(r)
	if err != nil {
		return err
	}
	download := auditDownload(r, "ndjson", "application/x-ndjson")
	return download.End(api.ExportAudit(r.Context(), r.Caller, search, "ndjson", func(_ []api.AuditEvent, lines [][]byte) error {
		_, err := download.Write(append(bytes.Join(lines, []byte("\n")), '\n'))
		return err
	}))
}

// auditDownload begins a download whose name has the day.
func auditDownload(r *page.Request, format, contentType string) *page.Download {
	return r.NewDownload("audit-"+r.Store.Now().UTC().Format(time.DateOnly)+"."+format, contentType, 0)
}
