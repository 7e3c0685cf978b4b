package data

import (
	"govsvc/server/transfer"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// previewPart is a section of the preview of an import.
type previewPart struct {
	Title   string
	Note    string
	Records []previewRecord
	More    int // records without an entry
}

// previewRecord is the effect of an import on one record.
type previewRecord struct {
	Type   string
	Name   string
	Href   string // its page; "" for a new record
	Line   int
	Fields []records.FieldChange
}

// previewParts returns the sections. Changes that need a reason are first.
func previewParts(report transfer.Report) []previewPart {
	p := report.Preview
	if p == nil {
		return nil
	}
	var created, updated int
	for _, count := range report.Types {
		created, updated = created+count.Created, updated+count.Updated
	}
	all := []previewPart{
		newPreviewPart("Changes that need a reason", p.Lacking, p.LacksReason),
		newPreviewPart("Changed records", p.Changed, updated-p.LacksReason),
		newPreviewPart("New records", p.Created, created),
	}
	all[0].Note = "They lower or clear a severity or the likelihood, or close, accept or mitigate a critical risk. Their rows have no reason."
	var parts []previewPart
	for _, part := range all {
		if len(part.Records) > 0 || part.More > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}

func newPreviewPart(title string, list []transfer.Difference, total int) previewPart {
	part := previewPart{Title: title, More: total - len(list)}
	for _, one := range list {
		record := previewRecord{Type: ui.Humanize(one.Type), Name: one.Name, Line: one.Line}
		if one.ID != "" {
			record.Href = records.Path(one.Type, one.ID)
		}
		for _, change := range one.Changes {
			record.Fields = append(record.Fields, records.FieldChange{Label: records.Label(change.Member), From: records.ValueText(change.Member, change.From), To: records.ValueText(change.Member, change.To)})
		}
		part.Records = append(part.Records, record)
	}
	return part
}

// importButton returns the form that imports a checked file. It has a field for a
// reason if a changed record needs one and has none.
func importButton(report transfer.Report, path string) *ui.Form {
	form := &ui.Form{Action: path, Submit: "Import " + ui.Plural(report.Records, "record", "records"), Cancel: "/import"}
	if n := report.Preview.LacksReason; n > 0 {
		form.Fields = append(form.Fields, &ui.Field{
			Name: records.ReasonField, Label: records.Label(records.ReasonField), Type: "textarea", Required: true,
			MinLength: transfer.MinReason, MaxLength: transfer.MaxReason,
			Hint: "For the " + ui.Plural(n, "change", "changes") + " above without a reason. At least 20 characters. It is kept as evidence, with the values before and after.",
		})
	}
	return form
}
