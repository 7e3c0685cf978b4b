package records

import (
	"govsvc/db/annotation"
	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// Annotations has the actions with which people annotate the records of one resource.
type Annotations struct{ *Pages }

// archivedState says since when the lists leave a record out.
type archivedState struct{ At, By string }

// subjectOf returns a record as the service of annotations names it.
func subjectOf(res *resource.Resource, record api.Record) annotation.Subject {
	return annotation.Subject{Type: res.Type, ID: ui.Text(record["id"])}
}

// addAnnotations adds what people have added to a record: its links, attachments and
// comments, and whether it is archived.
func addAnnotations(r *page.Request, res *resource.Resource, record api.Record, refused refusedForm, data *recordData) error {
	of := subjectOf(res, record)
	archived, err := annotation.New(r.Store).Archived(r.Context(), r.Org(), of)
	if err != nil {
		return err
	}
	if data.Links, err = loadLinks(r, of); err != nil {
		return err
	}
	if data.Attachments, err = loadAttachments(r, of, refused.attachment); err != nil {
		return err
	}
	if data.Comments, err = loadComments(r, of, refused.comment); err != nil {
		return err
	}
	if archived != nil {
		names, err := ActorNames(r, archived.By)
		if err != nil {
			return err
		}
		data.Archived = &archivedState{At: archived.At, By: names[archived.By]}
	}
	if r.May(auth.WriteRecords) {
		data.Actions = append(data.Actions, archiveAction(of, archived != nil))
	}
	return nil
}

// archiveAction returns the button that archives a record or restores it.
func archiveAction(of annotation.Subject, archived bool) ui.Action {
	at := Path(of.Type, of.ID)
	if archived {
		return ui.Action{Label: "Restore", Path: at + "/restore", Post: true}
	}
	return ui.Action{
		Label: "Archive", Path: at + "/archive", Post: true,
		Ask: "The lists will leave this " + typeLabel(of.Type) + " out. Its page, its links, exports and the API keep it. You can restore it.",
	}
}

// Archive leaves the record out of the lists.
func (p Annotations) Archive(r *page.Request) error {
	return p.archive(r, true, "The "+p.Singular+" has been archived.")
}

// Restore shows the record in the lists again.
func (p Annotations) Restore(r *page.Request) error {
	return p.archive(r, false, "The "+p.Singular+" has been restored.")
}

func (p Annotations) archive(r *page.Request, archived bool, message string) error {
	record, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	of := subjectOf(p.Resource, record)
	if err := annotation.New(r.Store).Archive(r.Context(), r.Actor(), of, archived); err != nil {
		return err
	}
	return r.RedirectWithMessage(Path(of.Type, of.ID), message)
}
