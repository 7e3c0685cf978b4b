package data

import (
	"govsvc/server/transfer"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// previewPart is a part of the preview of an import: the differences of a kind.
type previewPart struct {
	Title   string
	Note    string
	Records []previewRecord
	More    int // records that are not listed
}

// previewRecord is what an import does to one record.
type previewRecord struct {
	Type   string
	Name   string
	Href   string // of its page; "" for a new record
	Line   int
	Fields []records.FieldChange
}

// previewParts are the differences by kind: what needs a reason first.
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
		previewOf("Changes that need a reason", p.Lacking, p.LacksReason),
		previewOf("Changed records", p.Changed, updated-p.LacksReason),
		previewOf("New records", p.Created, created),
	}
	all[0].Note = "These lower or clear a severity or the likelihood, or close, accept or mitigate a critical risk. Their rows give no reason."
	var parts []previewPart
	for _, part := range all {
		if len(part.Records) > 0 || part.More > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}

func previewOf(title string, list []transfer.Difference, total int) previewPart {
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

// confirmForm is the form that imports a checked file. It asks for a reason
// where records need one and have none.
func confirmForm(report transfer.Report, path string) *ui.Form {
	form := &ui.Form{Action: path, Submit: "Import " + ui.Plural(report.Records, "record", "records"), Cancel: "/import"}
	if n := report.Preview.LacksReason; n > 0 {
		form.Fields = append(form.Fields, &ui.Field{
			Name: records.ReasonField, Label: records.Label(records.ReasonField), Type: "textarea", Required: true,
			MinLength: transfer.MinReason, MaxLength: transfer.MaxReason,
			Hint: "For the " + ui.Plural(n, "change", "changes") + " above without a reason. At least 20 characters; it is kept as evidence with the values before and after.",
		})
	}
	return form
}
